"""Tokens in kubeconfigs: the current user's token changes, and nothing else."""

import json

import pytest
import yaml

from certwright.operators.tokenrequestor.contents import (
    KubeconfigError,
    ca_bundle_in,
    token_in,
    with_token,
)

CONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts:
- name: there
  context: {cluster: c, user: other}
- name: here
  context: {cluster: c, user: me}
clusters:
- name: c
  cluster:
    server: https://c
    certificate-authority: /etc/ca.crt
users:
- name: other
  user: {token: theirs}
- name: me
  user: {token: old-secret}
extensions: [{name: "1e3", extension: {"on": "yes", version: "012", "n": 1, nothing: null}}]
"""


def test_the_token_of_the_current_context() -> None:
    assert token_in(CONFIG) == "old-secret"
    assert token_in(CONFIG.replace("here", "there", 1)) == "theirs"


def test_only_the_current_users_token_changes() -> None:
    before, after = yaml.safe_load(CONFIG), yaml.safe_load(with_token(CONFIG, "new"))
    assert after["users"][1]["user"].pop("token") == "new"
    assert before["users"][1]["user"].pop("token") == "old-secret"
    assert after == before


def test_text_that_other_readers_take_for_something_else_stands_in_quotes() -> None:
    written = with_token(CONFIG, "new")
    for text in ('"1e3"', '"012"', "'yes'", "'on'"):
        assert text in written or text.replace("'", '"') in written


def test_json_is_fine_too() -> None:
    assert token_in(with_token(json.dumps(yaml.safe_load(CONFIG)), "new")) == "new"


def test_long_tokens_stay_on_one_line() -> None:
    token = "a1" * 2000 + "_-." + "x" * 2000
    assert token in with_token(CONFIG, token)


def test_the_authority_replaces_a_file_of_another_machine() -> None:
    written = with_token(CONFIG, "new", "Q0E=")
    assert ca_bundle_in(written) == "Q0E="
    assert ca_bundle_in(CONFIG) == ""
    assert "/etc/ca.crt" not in written
    assert "/etc/ca.crt" in with_token(CONFIG, "new")


def test_users_without_entries_get_one() -> None:
    bare = CONFIG.replace("  user: {token: old-secret}\n", "")
    assert token_in(bare) == ""
    assert token_in(with_token(bare, "new")) == "new"
    assert token_in(with_token(CONFIG.replace("{token: old-secret}", "null"), "new")) == "new"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("[secret]", "neither YAML nor JSON (line 1)"),
        ("a: b\n? {secret", "neither YAML nor JSON"),
        ("a: b\n---\nc: d", "neither YAML nor JSON"),
        ("current-context: x", "no context of the name"),
        ("current-context: [x]", "no current-context"),
        ("a: b", "no current-context"),
        (CONFIG.replace("user: me", "user: 1"), "names no user"),
        (CONFIG.replace("name: me", "name: you"), "no user of the name"),
        (CONFIG.replace("{token: old-secret}", "[secret]"), "no user of the name"),
        ("a: &a {b: 1}\nc: *a", "neither YAML nor JSON"),
        ("[" * 10000, "neither YAML nor JSON"),
    ],
)
def test_what_has_no_place_for_a_token_is_refused_without_quoting_it(
    text: str, complaint: str
) -> None:
    with pytest.raises(KubeconfigError) as refused:
        with_token(text, "new-secret")
    assert complaint in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_context_without_a_cluster_is_refused_for_the_authority_only() -> None:
    config = CONFIG.replace("{cluster: c, user: me}", "{user: me}")
    with_token(config, "new")
    with pytest.raises(KubeconfigError, match="names no cluster"):
        with_token(config, "new", "Q0E=")
