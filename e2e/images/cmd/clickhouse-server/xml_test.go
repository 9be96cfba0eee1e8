package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestToXML_followsTheRulesOfClickHouse(t *testing.T) {
	const config = `
max_server_memory_usage: 3865470561
logger: {console: 1, level: warning}
users:
  freshet:
    password: {'@from_env': A"B}
    networks: {ip: [127.0.0.1, "::1"]}
quotas: {default: {}}
empty:
text: other
`
	const want = "<clickhouse><empty></empty>" +
		"<logger><console>1</console><level>warning</level></logger>" +
		"<max_server_memory_usage>3865470561</max_server_memory_usage>" +
		"<quotas><default></default></quotas><text>a&lt;b</text>" +
		"<users><freshet><networks><ip>127.0.0.1</ip><ip>::1</ip></networks><password from_env=\"A&#34;B\"></password></freshet></users></clickhouse>"
	got, err := toXML([]byte(config), map[string]any{"text": "a<b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("XML (-want +got):\n%s", diff)
	}
}
