"""The door for untrusted text: nothing dangerous or secret comes through, and nothing harmless is changed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rltui.text import REDACTED, clean, clean_block, redact, redact_value

ESCAPES = [
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[?1049h",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;Zm9v\x1b\\",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1b_apc\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x1bc",
    "\x1b(B",
    "\x1b",
]
HARMFUL = st.one_of(
    st.sampled_from(ESCAPES),
    st.sampled_from(
        ["\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\r", "\n", "\t", "\x00", "\x85", "\ud800"]
    ),
    st.sampled_from(["\x1b[", "\x1b]", "\x1bP", "\x9b", "\x9d", "\x1b]52;c;AAAA", "\x1b\x1b[1m", "\x1b[1\x1b[1m"]),
    st.sampled_from(
        ["token=", "api_key: '", "hf_", "password", "[redacted]", "…", "None", "sk-", "://", "@", '"', "\\", "--"]
    ),
    st.characters(),
    st.text(max_size=6),
)
MESSY = st.lists(HARMFUL, max_size=30).map("".join)
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def alnum(n: int) -> st.SearchStrategy[str]:
    """Random letters and digits with at least one of each case and a digit, as every real key has."""
    return st.text(ALNUM, min_size=n, max_size=n).map(lambda s: "aZ7" + s)


def is_dangerous(character: str, block: bool = False) -> bool:
    if block and character == "\n":
        return False
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN")
        or character in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u061c"
    )


@given(MESSY, st.integers(0, 300))
@example("password=1234567890", 14)
@example("hub_token: None of it", 13)
@example("api_key=abcdef", 15)
def test_clean_leaves_nothing_dangerous_and_is_bounded_and_idempotent(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert not [c for c in cleaned if is_dangerous(c)]
    assert len(cleaned) <= limit
    assert clean(cleaned, limit) == cleaned


@given(MESSY, st.integers(0, 300))
def test_clean_block_keeps_only_the_newline(text: str, limit: int) -> None:
    cleaned = clean_block(text, limit)
    assert not [c for c in cleaned if is_dangerous(c, block=True)]
    assert len(cleaned) <= limit
    assert clean_block(cleaned, limit) == cleaned


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_vanishes_whole(escape: str) -> None:
    assert clean(f"a{escape}éb") == "aéb"


@pytest.mark.parametrize(
    ("raw", "line", "block"),
    [
        ("a\x1b]0;never closed", "a", "a"),
        ("a\x1b]0;never closed\nb", "a b", "a\nb"),
        ("a\x1b[31", "a", "a"),
        ("a\r\nb\rc\td", "a b c d", "a\nb\nc d"),
        ("\x1bPtmux;\x1b\x1b]52;c;AA\x07\x1b\\x", "x", "x"),
        ("quote \xe2\x80\x9d stays", "quote \xe2 stays", "quote \xe2 stays"),
        ("née 日本語 العربية 👍", "née 日本語 العربية 👍", "née 日本語 العربية 👍"),
    ],
)
def test_examples(raw: str, line: str, block: str) -> None:
    assert clean(raw) == line
    assert clean_block(raw) == block


def test_a_cut_shows_and_never_splits_the_marker() -> None:
    assert clean("a" * 50, 10) == "a" * 9 + "…"
    assert clean("abc api_key=0123456789abcdefXYZ tail", 16) == "abc api_key=…"
    assert clean("abc", 0) == ""


# --- Secrets ------------------------------------------------------------------------------------------------------

SHAPED = st.one_of(
    alnum(30).map(lambda s: "sk-" + s),
    alnum(40).map(lambda s: "sk-ant-api03-" + s),
    alnum(40).map(lambda s: "sk-proj-" + s),
    alnum(31).map(lambda s: "hf_" + s),
    alnum(33).map(lambda s: "ghp_" + s),
    alnum(33).map(lambda s: "gho_" + s),
    alnum(60).map(lambda s: "github_pat_" + s),
    alnum(17).map(lambda s: "glpat-" + s),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16).map(lambda s: "AKIA" + s),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16).map(lambda s: "ASIA" + s),
    alnum(32).map(lambda s: "AIza" + s),
    st.tuples(st.sampled_from("bap"), alnum(20)).map(lambda t: f"xox{t[0]}-{t[1]}"),
    st.tuples(alnum(20), alnum(40), alnum(30)).map(lambda t: f"eyJ{t[0]}.eyJ{t[1]}.{t[2]}"),
    alnum(80).map(lambda s: f"-----BEGIN RSA PRIVATE KEY-----\n{s}\n{s}\n-----END RSA PRIVATE KEY-----"),
)
VALUE = st.text(ALNUM + "_-./+", min_size=12, max_size=40).filter(
    lambda s: s[0].isalpha() and any(c.isdigit() for c in s)
)
NAMED = st.sampled_from(
    [
        "api_key={}",
        "OPENAI_API_KEY={}",
        'api_key: "{}"',
        '"password": "{}"',
        "'hub_token': '{}'",
        "TOKEN={}",
        "export HF_TOKEN={}",
        "aws_secret_access_key = {}",
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        "wandb_key: {}",
        "hubToken={}",
        "--hub_token {}",
        "--api-key={}",
        '["--api_key", "{}"]',
        "('WANDB_API_KEY', '{}')",
        "client_secret: {}",
        '\\"api_key\\": \\"{}\\"',
        "postgres://user:{}@host/db",
        "│ hub_token │ {} │",
        "https://h/x?access_token={}&y=1",
        "X-Api-Key: {}",
        "credentials={}",
        "password=SecretStr('{}')",
        "machine api.wandb.ai login user password {}",
        "Cookie: {}",
    ]
)
AROUND = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=20)


@given(AROUND, SHAPED, AROUND)
@settings(max_examples=300)
def test_a_secret_of_known_shape_never_survives(before: str, secret: str, after: str) -> None:
    core = secret.splitlines()[1] if "\n" in secret else secret[6:]
    assume(core not in before + after)
    for door in (clean, clean_block, redact):
        assert core not in door(f"{before} {secret} {after}")
    assert core not in str(redact_value("note", {"x": [secret]}))


@given(AROUND, NAMED, VALUE, AROUND)
@settings(max_examples=300)
def test_a_named_secret_never_survives_and_its_name_does(before: str, form: str, value: str, after: str) -> None:
    value = value.replace("/", "x")  # a password in a URL ends at a slash
    assume(value not in before + after)
    shown = clean(f"{before} {form.format(value)} {after}")
    assert value not in shown
    assert REDACTED in shown
    name = form.split("{}")[0].strip(" \"'=:(\\")
    assert name in shown


@given(VALUE, st.integers(1, 120))
def test_no_bound_uncovers_a_secret(value: str, limit: int) -> None:
    shown = clean(f"launch --x 1 api_key='{value}' end", limit)
    assert value[:6] not in shown


def test_wandb_keys_by_their_surroundings() -> None:
    key = "0123456789abcdef0123456789abcdef01234567"
    for line in (f"wandb login {key}", f"wandb login --relogin {key}", f"wandb: key {key}", f"API key: {key}"):
        assert key not in clean(line)
    for line in (f"commit {key}", f"wandb: git commit {key}", f"git_sha: {key}", f"HEAD is now at {key}"):
        assert clean(line) == line


def test_a_pem_body_seen_line_by_line() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    assert body not in clean(body)
    assert clean("a" * 64) == "a" * 64


ORDINARY = [
    "max_token: 512",
    "num_tokens=51234 tokenizer: Qwen/Qwen2.5-0.5B token_mean",
    "eos_token: <|end|> pad_token_id=0 pad_token: <pad>",
    "hub_token: None",
    "'hub_token': '<HUB_TOKEN>', 'hub_token': None, 'hub_token': ''",
    "loss_agg_mode: token-mean",
    "token_level_scores: x",
    "prompt_key: prompt, reward_fn_key=data_source, step_key: global_step, key: value",
    "num_key_value_heads: 4 key/value cache",
    "step:7 - actor/kl_loss:0.001 - perf/total_num_tokens:56000 - tokens/s: 512.5",
    "rewards/secret_word: 0.75 password_reward/mean:0.5",
    "http://localhost:8000/v1 mail@host",
    "sk-learn-compatible-estimator",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "TOKENIZERS_PARALLELISM=false",
    "AutoTokenizer: Qwen/Qwen2.5",
    "api_key: ${OPENAI_API_KEY} password=*** token=$TOKEN",
    "{'eos_token': '<|im_end|>', 'image_token': '<image>abcdefgh12', 'skip_special_tokens': True}",
    "tokens: [1, 2, 3]",
    "setup.py:85 -- Token authentication is enabled",
    "W&B run key8f3k, keyboard: yes, monkey: x, key: 'answer'",
    "next token: understanding12",
    "image 3/4 [hf_transfer] on",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_is_untouched(line: str) -> None:
    assert clean(line) == line


METRIC = st.sampled_from(
    [
        "loss",
        "kl",
        "num_tokens",
        "max_token",
        "token_mean",
        "completions/mean_length",
        "critic/score/mean",
        "tokens_per_s",
        "password_len",
        "secret/mean",
        "per_token_kl",
        "key_entropy",
        "hub_token_count",
        "val-core/x/reward",
        "timing_s/gen",
        "auth/score",
    ]
)


@given(
    st.lists(st.tuples(METRIC, st.floats(allow_nan=True, allow_infinity=True)), min_size=1, max_size=12),
    st.sampled_from([":", "=", ": "]),
)
def test_metric_lines_survive_unchanged(pairs: list[tuple[str, float]], separator: str) -> None:
    line = "step:7 - " + " - ".join(f"{name}{separator}{value!r}" for name, value in pairs)
    assert clean(line) == line
    row = repr({name: str(value) for name, value in pairs})
    assert clean(row) == row


@pytest.mark.parametrize(
    "key",
    ["password", "wandb.api_key", "hub_token", "env.HF_TOKEN", "credentials", "aws_secret_access_key", "wandb_key"],
)
def test_a_config_value_goes_by_its_key(key: str) -> None:
    assert redact_value(key, "hunter two") == REDACTED
    assert redact_value(key, {"desc": None, "value": "hunter two"}) == {"desc": None, "value": REDACTED}
    for harmless in (None, 0, 1.5, True, "", "None", "<HUB_TOKEN>"):
        assert redact_value(key, harmless) == harmless


def test_a_config_value_of_another_key_goes_by_its_text() -> None:
    assert redact_value("eos_token", "<|end|>") == "<|end|>"
    assert redact_value("reward_key", "score") == "score"
    assert redact_value("args", ["--api_key=abc123", 5]) == [f"--api_key={REDACTED}", 5]
