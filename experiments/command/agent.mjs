// A support agent for Node.js, without any package: a model, five tools over HTTP, and a loop.
// Lines that end with "// address" are what it takes to test it: where an address or the task comes from.
const openai = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1"; // address
const shop = process.env.SHOP_URL ?? "https://shop.example"; // address
const mail = process.env.MAIL_URL ?? "https://mail.example"; // address
const task = JSON.parse(process.env.CHAOSAGENT_TASK ?? '{"input": {"question": "", "order": ""}}').input; // address
const careful = JSON.parse(process.env.CHAOSAGENT_CONFIG ?? "{}").settings?.careful ?? false; // address

const TURNS_MAX = 12;
const ATTEMPTS = 3;

class Refused extends Error {}

// Ask a service. Whatever fails is tried again, unless the service has understood and refused.
async function ask(method, url, body, attempts = ATTEMPTS) {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(url, {
        method,
        headers: { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY ?? "none"}` },
        body: body && JSON.stringify(body),
      });
      if (response.ok) return await response.json();
      const text = await response.text();
      if (response.status < 500 && response.status !== 429) throw new Refused(`${response.status} ${text}`);
      throw new Error(`${response.status} ${text}`);
    } catch (error) {
      if (error instanceof Refused || attempt >= attempts) throw error;
    }
  }
}

const key = (what) => (careful ? { key: `${task.order}:${what}` } : {});

const tools = {
  get_order: ({ order }) => ask("GET", `${shop}/orders/${encodeURIComponent(order)}`),
  get_policy: () => ask("GET", `${shop}/policy`),
  refund: ({ order, amount }) => ask("POST", `${shop}/refunds`, { order, amount, ...key("refund") }),
  find_refund: ({ order }) => ask("GET", `${shop}/refunds/${encodeURIComponent(order)}`),
  send_mail: ({ order, text }) => ask("POST", `${mail}/mails`, { order, text, ...key("mail") }),
};
const described = [
  ["get_order", "Look an order up.", { order: { type: "string" } }],
  ["get_policy", "Read when orders are refunded.", {}],
  ["refund", "Pay a customer back.", { order: { type: "string" }, amount: { type: "number" } }],
  ["find_refund", "Look up whether an order was refunded.", { order: { type: "string" } }],
  ["send_mail", "Write to the customer.", { order: { type: "string" }, text: { type: "string" } }],
].map(([name, description, properties]) => ({
  type: "function",
  function: { name, description, parameters: { type: "object", properties, required: Object.keys(properties) } },
}));

// Run one tool; whatever fails is told to the model, as most frameworks do it.
async function run(call) {
  try {
    const use = tools[call.function.name];
    if (!use) return `error: there is no tool ${call.function.name}`;
    return JSON.stringify(await use(JSON.parse(call.function.arguments)));
  } catch (error) {
    return `error: ${error.message}`;
  }
}

// The careful one writes to the customer only when it has seen the refund in the books, and answers for nothing else.
async function runCarefully(call) {
  if (call.function.name !== "send_mail") return run(call);
  const found = await run({ function: { name: "find_refund", arguments: JSON.stringify({ order: task.order }) } });
  return found.startsWith("error") || !JSON.parse(found).refunds ? "error: not sent, as there is no refund" : run(call);
}

const messages = [{ role: "user", content: `${task.question} (order ${task.order})` }];
let paid = false;
let answer = "I could not finish this; a colleague will look into it.";
for (let turn = 0; turn < TURNS_MAX; turn++) {
  const reply = await ask("POST", `${openai}/chat/completions`, { model: "gpt-support", messages, tools: described });
  const message = reply.choices[0].message;
  messages.push(message);
  if (!message.tool_calls?.length) {
    answer = message.content ?? answer;
    break;
  }
  const results = careful ? [] : await Promise.all(message.tool_calls.map(run));
  for (const [index, call] of message.tool_calls.entries()) {
    if (careful) results.push(await runCarefully(call));
    messages.push({ role: "tool", tool_call_id: call.id, content: results[index] });
    paid ||= call.function.name === "refund" && !results[index].startsWith("error");
  }
}
// The careful one says what it has done, whatever the model makes of it.
if (careful && paid && !answer.includes("on its way")) answer += ` Your money for ${task.order} is on its way.`;
const claims = answer.includes("on its way") ? [{ kind: "refund", identity: { order: task.order } }] : [];
console.log(JSON.stringify({ message: answer, success: paid && claims.length > 0, claims }));
