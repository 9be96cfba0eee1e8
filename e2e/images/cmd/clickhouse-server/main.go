// Command clickhouse-server is ClickHouse's server for tests without its image: it takes a server's configuration file and runs
// the engine's library by it, on the native port only. It becomes freshet-engine, which beside the library lies in the same image.
//
// Invariant: what the configuration says of users and settings holds. It changes nothing of it except that it adds the user that the
// library needs for itself, who may do nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/local/chengine"
)

const (
	engine  = "/usr/bin/freshet-engine"
	library = "/usr/lib/clickhouse/libchdb.so"
)

// server is what this program must know of the configuration.
type server struct {
	Path        string `json:"path"`
	ListenHost  string `json:"listen_host"`
	TCPPort     int    `json:"tcp_port"`
	UsersConfig string `json:"users_config"`
	Logger      struct {
		Level string `json:"level"`
	} `json:"logger"`
}

func main() {
	file := flag.String("config-file", "", "the server's configuration, YAML; path, listen_host, tcp_port and users_config must be in it")
	flag.Parse()
	err := run(*file)
	fmt.Fprintln(os.Stderr, "clickhouse-server:", err)
	os.Exit(1)
}

// run returns with an error or not at all: the process becomes another program.
func run(file string) error {
	// One folder, not a new one each time: a container's scratch space outlives its restarts.
	scratch := filepath.Join(os.TempDir(), "clickhouse-server")
	s, config, err := derive(file, scratch)
	if err != nil {
		return fmt.Errorf("read configuration %s: %w", file, err)
	}
	if err := chengine.PrepareData(filepath.Clean(s.Path)); err != nil {
		return err
	}
	args := []string{engine, "--library", library, "--data", filepath.Clean(s.Path), "--config", config,
		"--host", s.ListenHost, "--tcp-port", strconv.Itoa(s.TCPPort), "--http-port", "0"}
	if s.Logger.Level != "" {
		args = append(args, "--log-level", s.Logger.Level)
	}
	return fmt.Errorf("become %s: %w", engine, syscall.Exec(engine, args, os.Environ()))
}

// derive writes the configuration that the library takes into a folder, and returns its path.
func derive(file, scratch string) (server, string, error) {
	var s server
	text, err := os.ReadFile(file)
	if err != nil {
		return s, "", err
	}
	if err := yaml.Unmarshal(text, &s); err != nil {
		return s, "", err
	}
	if s.Path == "" || s.ListenHost == "" || s.TCPPort == 0 || s.UsersConfig == "" {
		return s, "", errors.New("path, listen_host, tcp_port or users_config is missing")
	}
	given, err := os.ReadFile(s.UsersConfig)
	if err != nil {
		return s, "", err
	}
	config, users, extra := filepath.Join(scratch, "config.xml"), filepath.Join(scratch, "users.xml"), filepath.Join(scratch, "users.d")
	server, err := toXML(text, map[string]any{"users_config": users})
	if err != nil {
		return s, "", err
	}
	accounts, err := toXML(given, nil)
	if err != nil {
		return s, "", fmt.Errorf("translate %s: %w", s.UsersConfig, err)
	}
	if err := os.RemoveAll(scratch); err != nil {
		return s, "", err
	}
	return s, config, errors.Join(
		os.MkdirAll(extra, 0o700),
		os.WriteFile(config, server, 0o600),
		os.WriteFile(users, accounts, 0o600),
		os.WriteFile(filepath.Join(extra, "scripts.xml"), chengine.ScriptsUser(), 0o600),
	)
}
