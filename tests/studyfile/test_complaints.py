"""Every error in a study file is reported with file, line, key and remedy."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chaosagent.errors import ChaosAgentError, UnknownNameError, UsageError
from chaosagent.studyfile import Overrides, load_study, plan_of

Write = Callable[[str], Path]

UNREADABLE = [
    ("", "is empty"),
    ("# nothing\n", "is empty"),
    ("- a\n- b\n", "holds a list; a study file is a mapping"),
    ("just words\n", "holds a text; a study file is a mapping"),
    ("target: [a\n", r":2: no YAML:.*Correct the line"),
    ("target: a\n\tconfig: b\n", r":2: no YAML"),
    ("target: a\n---\ntarget: b\n", r"no YAML"),
    ("target: a\ntarget: b\n", r":2: the key 'target' stands twice, first on line 1"),
    ("target: a\n3: b\n", r":2: the key 3 is no text"),
    ("target: !!python/object/apply:os.system [ls]\n", r":1: no YAML"),
    ("target: a\nconfig: 2024-01-01\n", r":2: '2024-01-01' is read as a date\. Put it in quotes"),
    ("target: a\nconfig: 2024-13-45\n", r":2: '2024-13-45': month must be in 1\.\.12\. Put it in quotes"),
    ("2024-13-45: a\n", r":1: '2024-13-45': month must be in 1\.\.12\. Put it in quotes"),
    ("target: a\n[b]: c\n", r":2: a key is a list or a mapping, no text\. Put it in quotes"),
    ("target: !!bool maybe\n", r":1: 'maybe' is no bool\. Leave out the tag"),
    ("target: !!float ''\n", r":1: '' is no float\. Leave out the tag"),
    ("target: !!timestamp x\n", r":1: 'x' is no timestamp\. Leave out the tag"),
    ("!!bool maybe: a\n", r":1: 'maybe' is no bool\. Leave out the tag"),
    ("target: \x1f\n", r"is no YAML: unacceptable character #x001f"),
    ("target: " + "[" * 600, r"nested too deeply|no YAML"),
    ("a: &a {target: x}\n<<: *a\n", r":2: merging with << is not read here\. Write the keys themselves"),
    ("target: =\n", r":1: no YAML that is allowed here: the tag '.*value'"),
    ("target: !!binary aGVsbG8=\n", r":1: 'aGVsbG8=' is read as binary data\. Put it in quotes"),
    ('target: "\\ud800"\n', r":1: '\\ud800' has a lone surrogate"),
    ("target: !!set {a}\n", r":1: no YAML that is allowed here: the tag '.*set'"),
    ("target: *nobody\n", r":1: no YAML: found undefined alias 'nobody'"),
    ("target: a\nsearch: {trials: 1, trials: 2}\n", r":2: the key 'trials' stands twice, first on line 2"),
    ("null\n", "holds nothing; a study file is a mapping"),
    ("\0", "is no YAML: unacceptable character"),
    (f"target: a\nbudget: {'9' * 5_000}\n", r":2: '9{79}\.\.\. 4922 more characters: a number has at most 300 digits"),
    ("target: a\ntasks: &x [*x]\n", r":2: .*Do without aliases"),
]


@pytest.mark.parametrize(("text", "complaint"), UNREADABLE)
def test_what_is_no_mapping_of_plain_values_is_refused(write: Write, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_study(write(text))


def test_aliases_do_not_blow_up(write: Write) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))

    with pytest.raises(UsageError, match="Do without aliases"):
        load_study(write(bomb))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(bytes(range(256)))

    with pytest.raises(UsageError, match=r"study\.yaml is no text in UTF-8"):
        load_study(path)


def test_a_file_that_is_not_there_and_a_folder_are_told_apart(write: Write, tmp_path: Path) -> None:
    write("target: a\n")

    with pytest.raises(UsageError, match=r"other\.yaml does not exist"):
        load_study(tmp_path / "other.yaml")
    with pytest.raises(UsageError, match=r"is a folder; name a study file\. It holds study\.yaml"):
        load_study(tmp_path)


@pytest.mark.parametrize(
    ("name", "target"), [("expenses.py", "expenses.py:NAME"), ("expenses.py:agent", "expenses.py:agent")]
)
def test_a_program_in_the_place_of_a_study_file_is_told_where_it_belongs(
    tmp_path: Path, name: str, target: str
) -> None:
    (tmp_path / "expenses.py").write_text("def agent(task, run):\n    return {}\n", encoding="utf-8")

    with pytest.raises(
        UsageError, match=rf"{name} is Python; name a study file, and in it the target: `target: {target}`"
    ):
        load_study(tmp_path / name)


def test_a_huge_file_is_refused_before_it_is_read(write: Write) -> None:
    with pytest.raises(UsageError, match="is too large; a study file has at most 1000000 bytes"):
        load_study(write("# " + "x" * 1_000_000))
    with pytest.raises(UsageError, match=r"/dev/zero is too large"):
        load_study(Path("/dev/zero"))


@pytest.mark.slow
def test_a_file_with_far_too_many_values_is_refused_before_all_of_it_is_read(write: Write) -> None:
    path = write(f"target: a\nseeds: [{'1,' * 450_000}\n")  # that the list never ends is not seen any more

    with pytest.raises(UsageError, match=r"study\.yaml:2: more than 32 levels or 20000 values"):
        load_study(path)


def test_what_options_gave_is_not_blamed_on_the_file(write: Write) -> None:
    path = write("target: agent.py:agent\ncontracts: [no-crash]\ntasks: [first]\n")

    with pytest.raises(UnknownNameError, match="--contract: unknown contract 'nope'"):
        plan_of(load_study(path, Overrides(contracts=("nope",))))
    with pytest.raises(UnknownNameError, match=r"--task: unknown task of target agent: 'frist'\. Did you mean 'first'"):
        plan_of(load_study(path, Overrides(tasks=("frist",))))


WRONG = [
    ("budgit: 3\n", r"study\.yaml:2: unknown key 'budgit'\. Did you mean 'budget'\? Known: target, "),
    ("search:\n  trialz: 4\n", r"study\.yaml:3: unknown key 'search\.trialz'\. Did you mean 'trials'\?"),
    ("cost: {c_token: 1}\n", r"study\.yaml:2: unknown key 'cost\.c_token'\. Did you mean 'c_tokens'\?"),
    ("budget: many\n", r"study\.yaml:2: budget is 'many'; it must be a number"),
    ("seeds: [0, -1]\n", r"study\.yaml:2: entry 2 of seeds is -1; it must be at least 0"),
    ("search: {seed: -1}\n", r"search\.seed is -1; it must be at least 0"),
    ("budget: -1\n", r"study\.yaml:2: budget is -1; it must be at least 0"),
    ("budget: .inf\n", r"study\.yaml:2: budget is \.inf; it must be a finite number"),
    ("budget: true\n", r"study\.yaml:2: budget is true; it must be a number"),
    ("seeds: 3\n", r"study\.yaml:2: seeds is 3; it must be a list\. Write it in brackets"),
    ("seeds: []\n", r"study\.yaml:2: seeds is \[\]; it must not be empty"),
    ("seeds: [0, x]\n", r"study\.yaml:2: entry 2 of seeds is 'x'; it must be a whole number"),
    ("cost:\n  c_hook: 0.0000001\n", r"study\.yaml:3: cost\.c_hook is 1e-07; it must be at least 1e-06"),
    ("search: {trials: 0}\n", r"search\.trials is 0; it must be at least 1"),
    ("search: {until: '25:00'}\n", r"search\.until is '25:00'; it must be a time of day, such as '08:00'"),
    ("search: {error_share: 1.5}\n", r"search\.error_share is 1\.5; it must be at most 1"),
    ("run: 5\n", r"study\.yaml:2: run is 5; it must be a mapping\.$"),
    ("budget:\n", r"study\.yaml:2: budget is empty; it must be a number"),
    ("budget: .nan\n", r"study\.yaml:2: budget is \.nan; it must be a finite number"),
    ("tasks: [null]\n", r"study\.yaml:2: entry 1 of tasks is empty; it must be a text"),
    ("config: [x]\n", r"study\.yaml:2: config is \['x'\]; it must be a text"),
    ("search: {seed: 1.5}\n", r"study\.yaml:2: search\.seed is 1\.5; it must be a whole number"),
    ("search: {settings: [r1]}\n", r"study\.yaml:2: search\.settings is \['r1'\]; it must be a mapping"),
    (f"config: [{'x' * 1_000}]\n", r"study\.yaml:2: config is \['x{78}\.\.\. 924 more characters; it must be a text"),
    (f"{'x' * 1_000}: 1\n", r"study\.yaml:2: unknown key 'x{79}\.\.\. 922 more characters"),
]


@pytest.mark.parametrize(("line", "complaint"), WRONG)
def test_a_wrong_key_or_value_is_named_with_its_line(write: Write, line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_study(write(f"target: agent.py:agent\n{line}"))


def test_several_mistakes_are_told_at_once_in_the_order_of_their_lines(write: Write) -> None:
    with pytest.raises(UsageError, match="budget") as caught:
        load_study(write("target: agent.py:agent\nbudget: x\nseeds: y\nrun: {step: 1}\n"))

    lines = [int(found) for found in re.findall(r"study\.yaml:(\d+):", str(caught.value))]
    assert lines == [2, 3, 4]


def test_a_study_without_target_says_what_is_missing(write: Write) -> None:
    with pytest.raises(UsageError, match=r"study\.yaml:1: the key 'target' is missing"):
        load_study(write("budget: 3\n"))


UNKNOWN = [
    ("config: hardend\n", r"study\.yaml:2: unknown configuration of target agent: 'hardend'\. Did you mean 'hardened'"),
    (
        "tasks:\n  - first\n  - secund\n",
        r"study\.yaml:4: unknown task of target agent: 'secund'\. Did you mean 'second'",
    ),
    ("contracts: [at-most-twice]\n", r"study\.yaml:2: unknown contract 'at-most-twice'\. Did you mean 'at-most-once'"),
    (
        "contracts: [defaults]\n",
        r"study\.yaml:2: unknown contract 'defaults'\. Did you mean 'default'\? Known: .*default,",
    ),
    ("contracts: [{contract: defaults}]\n", r"study\.yaml:2: unknown contract 'defaults'\.(?! Did you mean 'default')"),
    ("contracts: [broken_checks.py:x]\n", r"study\.yaml:2: contract 'broken_checks:x' fails on import: ZeroDivision"),
    ("contracts: ['..up:x']\n", r"study\.yaml:2: contract '\.\.up:x': '\.\.up' is no name of a module"),
    ("contracts: [default, no-crash]\n", r"study\.yaml:2: there is a contract 'no-crash' already"),
    ("contracts: [{contract: no-leak, patern: x}]\n", r"study\.yaml:2: .*unknown setting 'patern'"),
    ("contracts: [{contract: no-crash, severity: soft}]\n", r"study\.yaml:2: all contracts are soft"),
    ("contracts: [3]\n", r"study\.yaml:2: 3 is no contract"),
    ("contracts: [missing.py:x]\n", r"study\.yaml:2: contract 'missing\.py:x': there is no file"),
    ("contracts: [../up.py:x]\n", r"study\.yaml:2: .*name a file next to the study file or below it"),
    ("contracts: [study_checks.py:nothing]\n", r"study\.yaml:2: contract 'study_checks:nothing' cannot be loaded"),
    (
        "operators:\n  - service.timeout\n  - service.dealy\n",
        r"study\.yaml:4: unknown operator 'service\.dealy'\. Did you m",
    ),
    (
        "operators: [servce.*]\n",
        r"study\.yaml:2: unknown operator 'servce\.\*'\. Did you mean 'service\.\*'\? Known: \*,",
    ),
    ("operators: [{seconds: 3}]\n", r"study\.yaml:2: .* is no operator"),
    (
        "operators:\n  - operator: service.delay\n    second: 3\n",
        r"study\.yaml:4: unknown parameter of service\.delay: 'sec",
    ),
    (
        "operators:\n  - operator: service.delay\n    seconds: [3, -1]\n",
        r"study\.yaml:4: service\.delay\(seconds=-1\): seco",
    ),
    ("operators: [{operator: service.delay, seconds: []}]\n", r"study\.yaml:2: .*give one level or a list"),
    ("operators: [{operator: service.*, seconds: 3}]\n", r"study\.yaml:2: .*stands for \d+ operators"),
    ("operators: [{operator: service.delay, interfaces: 3}]\n", r"study\.yaml:2: interfaces is 3; it must be a list"),
    (
        "operators: [{operator: service.delay, interfaces: [crm]}]\n",
        r"study\.yaml:2: .*has no boundary\. Write .*'service:",
    ),
    (
        "operators: [{operator: service.delay, interfaces: ['servce:*']}]\n",
        r"study\.yaml:2: unknown boundary 'servce'\. D",
    ),
    (
        "search: {searcher: anytime, settings: {r1: 'True'}}\n",
        r"study\.yaml:2: search\.settings\.r1 is 'True'; it must be true or false",
    ),
    (
        "search: {searcher: bandit, settings: {policy: thomson}}\n",
        r"study\.yaml:2: search\.settings\.policy is 'thomson'; it must be one of .*Did you mean 'thompson'",
    ),
    (
        "search: {searcher: hypothesis, settings: {shrinker: 3}}\n",
        r"shrinker is 3; it must be one of 'on', 'off', true, false",
    ),
    (
        "search:\n  searcher: beam\n  settings:\n    depth: 2\n    width: 0\n",
        r"study\.yaml:6: search\.settings\.width is 0; it must be a whole number from 1 to 10000\.$",
    ),
    ("search: {searcher: study_checks.py:Nobody}\n", r"study\.yaml:2: unknown searcher in study_checks: 'Nobody'"),
    ("search: {searcher: nowhere.py:One}\n", r"study\.yaml:2: searcher 'nowhere\.py:One': there is no file"),
    (
        "search: {searcher: nowhere.py:One}\n",
        r"For one elsewhere, .* put its folder on PYTHONPATH, and write module:Cl",
    ),
    ("search: {searcher: 'nowhere:One'}\n", r"study\.yaml:2: searcher 'nowhere:One': there is no module 'nowhere'"),
    ("search: {searcher: exakt}\n", r"study\.yaml:2: unknown searcher 'exakt'\. Did you mean 'exact'"),
    ("search: {settings: {r1: 3}}\n", r"study\.yaml:2: search\.settings\.r1 is 3; it must be true or false"),
    (
        "search: {searcher: random, settings: {injections_max: true}}\n",
        r"study\.yaml:2: search\.settings\.injections_max is true; it must be a whole number",
    ),
    (
        "search: {searcher: random, settings: {injections_max: 0}}\n",
        r"study\.yaml:2: search\.settings\.injections_max is 0; it must be a whole number from 1 to",
    ),
    ("contracts: [study_checks.py:Path]\n", r"study\.yaml:2: contract 'study_checks:Path' cannot be loaded"),
    ("contracts: ['../x:y']\n", r"study\.yaml:2: contract '\.\./x:y': '\.\./x' is no name of a module"),
    ("contracts: [study_checks.py:plain]\n", r"study\.yaml:2: .* is the function plain, not a contract\. Decorate"),
    (
        "search: {settings: {lineage: true}}\n",
        r"study\.yaml:2: search\.settings\.lineage is a setting of `searcher: exact`",
    ),
    ("search: {settings: {r4: true}}\n", r"study\.yaml:2: unknown setting of searcher 'anytime': 'r4'"),
]


@pytest.mark.parametrize(("lines", "complaint"), UNKNOWN)
def test_a_name_that_does_not_exist_is_named_with_its_line(write: Write, lines: str, complaint: str) -> None:
    study = load_study(write(f"target: agent.py:agent\n{lines}"))

    with pytest.raises(UsageError, match=complaint) as caught:
        plan_of(study)

    assert caught.value.exit_code == 2


def test_a_file_that_is_called_as_another_module_is_named_with_that(write: Write) -> None:
    path = write("target: agent.py:agent\nsearch: {searcher: json.py:One}\n")
    path.with_name("json.py").write_text("class One: ...\n")

    with pytest.raises(
        UsageError, match=r"another module is called 'json', too \(.*json.__init__\.py\)\. Give the file"
    ):
        plan_of(load_study(path))


@pytest.mark.parametrize(
    ("lines", "name", "complaint"),
    [
        ("", "anytme", r"^--searcher: unknown searcher 'anytme'\. Did you mean 'anytime'"),
        ("search: {searcher: exakt}\n", "bandits", r"^--searcher: unknown searcher 'bandits'\. Did you mean 'bandit'"),
        (
            "search:\n  settings:\n    lineage: true\n",
            "random",
            r"study\.yaml:4: search\.settings\.lineage is no setting of searcher 'random' of --searcher\. Remove it",
        ),
    ],
)
def test_a_searcher_of_the_command_line_is_refused_like_one_of_the_file(
    write: Write, lines: str, name: str, complaint: str
) -> None:
    study = load_study(write(f"target: agent.py:agent\n{lines}"), Overrides(searcher=name))

    with pytest.raises(UsageError, match=complaint) as caught:
        plan_of(study)

    assert caught.value.exit_code == 2


def test_a_target_that_cannot_be_loaded_is_named_with_its_line(write: Write) -> None:
    with pytest.raises(UnknownNameError, match=r"study\.yaml:1: unknown target 'triag'\. Did you mean 'triage'"):
        plan_of(load_study(write("target: triag\n")))
    with pytest.raises(UsageError, match=r"study\.yaml:2: there is no file .*nobody\.py"):
        plan_of(load_study(write("\ntarget: nobody.py:agent\n")))


TAGS = [f"!!{tag} " for tag in ("str", "int", "float", "bool", "null", "timestamp", "binary", "seq", "map", "set")]
PIECES = [*"\n,[]{}'\"?*&-", ": ", "- ", "  ", "\ntarget: ", "a", "0x_", "2024-13-45", "=", "<<", *TAGS]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("\x1f")
@example("!!bool ")
@example("2024-13-45: ")
@example("\ntarget: a")
def test_any_text_is_a_study_with_a_target_or_brings_a_usage_error(write: Write, text: str) -> None:
    path, target, complaint = write(""), "", ""
    path.write_text(text, encoding="utf-8", errors="surrogatepass")

    try:
        target = load_study(path).settings.target
    except ChaosAgentError as error:
        complaint = str(error)

    assert target or "study.yaml" in complaint
