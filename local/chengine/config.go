package chengine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/connectors/replica/engine/profile"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
)

func (s *Server) configFile() string { return filepath.Join(s.cfg.DataDir+".config", "config.xml") }

// writeConfig writes the configuration anew, for every start.
func (s *Server) writeConfig() error {
	dir := filepath.Dir(s.configFile())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	users := filepath.Join(dir, "users.xml")
	return errors.Join(
		os.WriteFile(s.configFile(), s.serverConfig(users).document(), 0o600),
		os.WriteFile(users, s.usersConfig().document(), 0o600),
	)
}

func (s *Server) serverConfig(users string) element {
	settings := map[string]string{
		"users_config":    users,
		"mark_cache_size": "268435456",
		// Local scans read from the page cache; a second cache only costs memory.
		"uncompressed_cache_size": "0",
		// Dropped tables free their memory and disk at once, not after eight minutes.
		"database_atomic_delay_before_drop_table_sec": "1",
		// Two threads, and as many tasks as a base has parts that rows are masked in: a task that finds no place waits for up to a second.
		"background_pool_size":                          "2",
		"background_merges_mutations_concurrency_ratio": "4",
		// As many threads as there are CPUs, which is the default, are so few that the engine logs several times in a second that tasks have to wait.
		"background_schedule_pool_size": "16",
	}
	if s.cfg.MaxMemory > 0 {
		settings["max_server_memory_usage"] = strconv.FormatInt(s.cfg.MaxMemory, 10)
	}
	root := elements("clickhouse", settings)
	// Parts that were replaced go soon: compaction and published generations make many.
	root.add(elements("merge_tree", map[string]string{"old_parts_lifetime": "2"}))
	if s.cfg.QueryLog {
		root.add(elements("query_log", map[string]string{
			"database": "system", "table": "query_log", "flush_interval_milliseconds": "1000",
			"engine": "ENGINE = MergeTree ORDER BY event_time",
		}))
	}
	return root
}

// usersConfig defines the one user, and the engine's own.
func (s *Server) usersConfig() element {
	settings := profile.Settings(s.maxThreads())
	settings["cancel_http_readonly_queries_on_client_close"] = "1"
	// The replica's urgent statements leave their threads at priority 0. The next query is to stand back again.
	if priority, err := process.Priority(nice); err == nil {
		settings["os_threads_nice_value_query"] = strconv.Itoa(priority)
	}
	maps.Copy(settings, s.cfg.Settings)
	hash := sha256.Sum256([]byte(s.Password))
	user := elements(s.User, map[string]string{
		"password_sha256_hex": hex.EncodeToString(hash[:]), "profile": "default", "quota": "default", "access_management": "1"})
	user.add(elements("networks", map[string]string{"ip": ports.Host}))
	scripts, scriptsProfile := scriptsUser()
	return usersDocument([]element{user, scripts}, []element{elements("default", settings), scriptsProfile})
}

// ScriptsUser is the part of a users' configuration without which the engine does not start, for a configuration of one's own: the
// engine merges it from a file in the folder users.d beside the file that users_config names.
func ScriptsUser() []byte {
	user, profile := scriptsUser()
	return usersDocument([]element{user}, []element{profile}).document()
}

// scriptsUser returns a user and its profile. The engine itself insists on a user "default" without a password for the session that
// runs its scripts; it may do nothing but open and close ports, and that one session is all it may have.
func scriptsUser() (user, profile element) {
	user = elements("default", map[string]string{"no_password": "", "profile": "scripts", "quota": "default"})
	user.add(elements("networks", map[string]string{"ip": ports.Host}))
	user.add(elements("grants", map[string]string{"query": "GRANT SYSTEM LISTEN ON *.*"}))
	return user, elements("scripts", map[string]string{"max_sessions_for_user": "1"})
}

func usersDocument(users, profiles []element) element {
	return element{name: "clickhouse", children: []element{
		{name: "profiles", children: profiles}, {name: "users", children: users},
		{name: "quotas", children: []element{{name: "default"}}},
	}}
}

// nice is by how much the engine stands back behind this process: queries may saturate the engine's cores, and what brings it new
// snapshots, and transactions on the same cores, come first.
const nice = 10

func (s *Server) maxThreads() int {
	switch {
	case s.cfg.MaxThreads > 0:
		return s.cfg.MaxThreads
	case len(s.cfg.Cores) > 0:
		return len(s.cfg.Cores)
	default:
		return runtime.NumCPU()
	}
}

// PrepareData makes sure that a data folder is there, of this engine's version or an earlier one, and free, and removes from it what the
// engine does not start with. It comes before every start.
func PrepareData(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the columnar engine's data folder: %w", err)
	}
	if inUse(filepath.Join(dir, "status")) {
		return &RunningError{DataDir: dir}
	}
	file := filepath.Join(dir, "freshet.version")
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the version of the columnar engine's data: %w", err)
	}
	if version := strings.TrimSpace(string(have)); later(version, toolchain.EngineVersion) {
		return &VersionError{DataDir: dir, Have: version, Want: toolchain.EngineVersion}
	}
	if now := toolchain.EngineVersion + "\n"; string(have) != now {
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			return fmt.Errorf("record the version of the columnar engine's data: %w", err)
		}
	}
	// System tables are created by every process of the engine; what an earlier one left is in their way (26.7).
	if err := os.RemoveAll(filepath.Join(dir, "data", "system")); err != nil {
		return fmt.Errorf("remove earlier system tables of the columnar engine: %w", err)
	}
	return removeTornDefinitions(dir)
}

// removeTornDefinitions removes the definitions of tables that were not written to their end, because the disk was full:
// the engine (26.7) neither starts with one nor has a table by it. A replica copies what it misses anew.
func removeTornDefinitions(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", "*.sql"))
	if err != nil {
		return fmt.Errorf("look for torn definitions of the columnar engine: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("look for torn definitions of the columnar engine: %w", err)
		}
		if bytes.HasSuffix(text, []byte("\n")) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove torn definition of the columnar engine: %w", err)
		}
	}
	return nil
}

// inUse reports whether an engine holds the lock on its status file.
func inUse(status string) bool {
	f, err := os.Open(status)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// later reports whether version a ("26.7.3") is after b. What cannot be read as a number counts as 0.
func later(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		var x, y int
		if i < len(as) {
			x, _ = strconv.Atoi(as[i])
		}
		if i < len(bs) {
			y, _ = strconv.Atoi(bs[i])
		}
		if x != y {
			return x > y
		}
	}
	return false
}

// element is an XML element of the configuration: a text or children.
type element struct {
	name, text string
	children   []element
}

// elements returns an element with one child per entry, in the order of their names.
func elements(name string, texts map[string]string) element {
	e := element{name: name}
	for _, child := range slices.Sorted(maps.Keys(texts)) {
		e.add(element{name: child, text: texts[child]})
	}
	return e
}

func (e *element) add(child element) { e.children = append(e.children, child) }

func (e element) document() []byte {
	var b bytes.Buffer
	e.write(&b, 0)
	return b.Bytes()
}

func (e element) write(b *bytes.Buffer, depth int) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s<%s>", indent, e.name)
	if len(e.children) == 0 {
		_ = xml.EscapeText(b, []byte(e.text)) // a bytes.Buffer does not fail
	} else {
		b.WriteByte('\n')
		for _, child := range e.children {
			child.write(b, depth+1)
		}
		b.WriteString(indent)
	}
	fmt.Fprintf(b, "</%s>\n", e.name)
}
