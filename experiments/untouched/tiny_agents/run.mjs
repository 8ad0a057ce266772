// Types one line into tiny-agents, waits for its next prompt, and leaves with Ctrl-C.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { OPENAI_BASE_URL, MEMORY_MCP_COMMAND, CHAOSAGENT_TASK } = process.env;
const folder = mkdtempSync(join(tmpdir(), "tiny-agents-"));
const servers = [{ type: "stdio", command: "sh", args: ["-c", `exec ${MEMORY_MCP_COMMAND}`] }];
const settings = { model: "scripted", endpointUrl: OPENAI_BASE_URL, apiKey: "none", servers };
writeFileSync(join(folder, "agent.json"), JSON.stringify(settings));
const cli = "node_modules/@huggingface/tiny-agents/dist/cli.js";
const agent = spawn(process.execPath, [cli, "run", folder], { stdio: ["pipe", "pipe", "inherit"] });
let printed = "";
let typed = false;
agent.stdout.on("data", (chunk) => {
  printed += chunk;
  if (!printed.endsWith("> ")) return;
  if (typed) return agent.kill("SIGINT");
  agent.stdin.write(`${JSON.parse(CHAOSAGENT_TASK).input}\n`);
  typed = true;
  printed = "";
});
agent.on("exit", (code, signal) => {
  rmSync(folder, { recursive: true });
  const message = printed.trim().split("\n").filter((line) => line !== ">").at(-1);
  const kept = message.includes("noted");
  const claims = kept ? [{ kind: "memory.create_entities.call", identity: {} }] : [];
  console.log(JSON.stringify({ message, success: kept, claims }));
  process.exitCode = code ?? (signal === "SIGINT" ? 0 : 1);
});
