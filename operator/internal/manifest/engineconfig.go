package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/connectors/replica/engine/profile"
)

// engineUser is the engine's only user.
const engineUser = "freshet"

// EngineConfig is the engine's configuration, complete: nothing of its image's own is read.
func (c Cluster) EngineConfig() (*corev1.ConfigMap, error) {
	memory := c.Spec.Columnar.Resources.Memory.Value()
	config := map[string]any{
		"logger":       map[string]any{"level": "warning", "console": 1},
		"listen_host":  "127.0.0.1", // the gateway is in the same pod, and nobody else has business here
		"tcp_port":     enginePort,
		"path":         engineDataDir + "/",
		"tmp_path":     engineDataDir + "/tmp/",
		"users_config": engineConfigDir + "/users.yaml",

		"max_server_memory_usage": memory / 10 * 9,
		"mark_cache_size":         memory / 16,
		// Scans read from the page cache; a second cache only costs memory.
		"uncompressed_cache_size": 0,
		// Dropped tables free their memory and disk at once, not after eight minutes.
		"database_atomic_delay_before_drop_table_sec": 1,
		// Parts that were replaced go soon: compaction and published generations make many.
		"merge_tree": map[string]any{"old_parts_lifetime": 2},
	}
	users := map[string]any{
		"users": map[string]any{engineUser: map[string]any{
			"password":          map[string]any{"@from_env": "FRESHET_ENGINE_PASSWORD"},
			"networks":          map[string]any{"ip": "127.0.0.1"},
			"profile":           "default",
			"quota":             "default",
			"access_management": 1,
		}},
		"profiles": map[string]any{"default": profile.Settings(threads(c.Spec.Columnar.Resources.CPU.MilliValue()))},
		"quotas":   map[string]any{"default": map[string]any{}},
	}
	data := map[string]string{}
	for name, content := range map[string]any{"config.yaml": config, "users.yaml": users} {
		text, err := yaml.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		data[name] = string(text)
	}
	return &corev1.ConfigMap{ObjectMeta: meta(c.HTAPCluster, componentUnit, EngineName(c.HTAPCluster)), Data: data}, nil
}

// threads is one for each core that was begun.
func threads(milliCPU int64) int { return int(max(1, (milliCPU+999)/1000)) }
