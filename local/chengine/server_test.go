package chengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/ports"
)

// ask runs a statement over HTTP as a user and returns what the engine says.
func ask(t *testing.T, s *chengine.Server, user, password, sql string) (status int, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTPAddr(), strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // the engine closes the connection after an error
	req.Header.Set("X-ClickHouse-User", user)
	req.Header.Set("X-ClickHouse-Key", password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func want(t *testing.T, s *chengine.Server, sql, answer string) {
	t.Helper()
	if status, got := ask(t, s, s.User, s.Password, sql); status != http.StatusOK || got != answer {
		t.Errorf("%s: status %d, answer %q; want %q", sql, status, got, answer)
	}
}

func TestServer_letsItsOneUserInOnly(t *testing.T) {
	s := stand.Engine(t)
	want(t, s, "SELECT currentUser()", "freshet")
	for _, who := range [][2]string{{"freshet", "wrong"}, {"default", ""}, {"nobody", ""}} {
		if status, got := ask(t, s, who[0], who[1], "SELECT 1"); status == http.StatusOK {
			t.Errorf("user %s with password %q got %q over HTTP", who[0], who[1], got)
		}
		conn, err := ch.Dial(t.Context(), ch.Options{Address: s.TCPAddr(), User: who[0], Password: who[1]})
		if err == nil {
			err = conn.Ping(t.Context())
			if err == nil {
				err = conn.Do(t.Context(), ch.Query{Body: "CREATE TABLE stolen (a Int8) ENGINE = Memory"})
			}
			conn.Close()
		}
		if err == nil {
			t.Errorf("user %s with password %q got in over TCP", who[0], who[1])
		}
	}
	conn, err := ch.Dial(t.Context(), ch.Options{Address: s.TCPAddr(), User: s.User, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestServer_outlivesBrokenConnections(t *testing.T) {
	s := stand.Engine(t)
	greeting := "\x00\x01x\x01\x01\xaa\xa6\x03\x00" + string(rune(len(s.User))) + s.User + string(rune(len(s.Password))) + s.Password
	for name, sent := range map[string]string{
		"silence": "", "garbage": "\xff\xff\xff", "half a greeting": greeting[:12], "greeting, then reset": greeting, "wrong password": greeting[:len(greeting)-1] + "!",
	} {
		for _, addr := range []string{s.TCPAddr(), s.HTTPAddr()} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatalf("after %s: %v", name, err)
			}
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "greeting") {
				_, _ = conn.Read(make([]byte, 1)) // the rest stays unread: closing resets the connection
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
		want(t, s, "SELECT 1", "1")
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := ch.Dial(t.Context(), ch.Options{Address: s.TCPAddr(), User: s.User, Password: s.Password})
		if err != nil {
			t.Fatal(err)
		}
		var n proto.ColUInt64
		err = conn.Do(ctx, ch.Query{
			Body:     "SELECT number FROM numbers(1000000000)",
			Result:   proto.Results{{Name: "number", Data: &n}},
			OnResult: func(context.Context, proto.Block) error { cancel(); return nil },
		})
		if err == nil {
			t.Error("the query was not cancelled")
		}
		conn.Close()
	}
	want(t, s, "SELECT 1", "1")
}

func TestServer_hasItsSettings(t *testing.T) {
	s := stand.Engine(t, func(c *chengine.Config) {
		c.MaxThreads, c.MaxMemory, c.Settings = 3, 1<<30, map[string]string{"join_use_nulls": "1"}
	})
	for name, value := range map[string]string{"max_threads": "3", "join_use_nulls": "1", "cancel_http_readonly_queries_on_client_close": "1"} {
		want(t, s, fmt.Sprintf("SELECT value FROM system.settings WHERE name = '%s'", name), value)
	}
	want(t, s, "SELECT changed FROM system.settings WHERE name = 'group_by_two_level_threshold'", "0")
	want(t, s, "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'", "1073741824")
	want(t, s, "SELECT value FROM system.merge_tree_settings WHERE name = 'old_parts_lifetime'", "2")
	want(t, s, "SELECT count() FROM system.tables WHERE database = 'system' AND name = 'query_log'", "0")
}

func TestServer_groupsAndJoinsInOneTableWithOneThread(t *testing.T) {
	s := stand.Engine(t, func(c *chengine.Config) { c.MaxThreads = 1 })
	want(t, s, "SELECT value FROM system.settings WHERE name = 'join_algorithm'", "direct,hash")
	want(t, s, "SELECT value FROM system.settings WHERE name = 'group_by_two_level_threshold'", "2000000")
}

func TestServer_keepsDataThroughStopKillAndStart(t *testing.T) {
	s := stand.Engine(t, func(c *chengine.Config) { c.QueryLog = true })
	want(t, s, "CREATE DATABASE d", "")
	want(t, s, "CREATE TABLE d.t (a Int32) ENGINE = MergeTree ORDER BY a", "")
	want(t, s, "INSERT INTO d.t SELECT number FROM numbers(1000)", "")
	want(t, s, "SYSTEM FLUSH LOGS", "")
	addr := s.HTTPAddr()
	stop := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return s.Stop(ctx)
	}
	for i, end := range []func() error{stop, s.Kill, stop} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		want(t, s, "SELECT sum(a) FROM d.t", "499500")
		want(t, s, "SYSTEM FLUSH LOGS", "")
		want(t, s, "SELECT count() > 0 FROM system.query_log", "1")
	}
	if s.HTTPAddr() != addr {
		t.Errorf("address %s after restarts, want %s as before", s.HTTPAddr(), addr)
	}
}

func TestServer_startsBesideATornDefinition(t *testing.T) {
	var dir string
	s := stand.Engine(t, func(c *chengine.Config) { dir = c.DataDir })
	want(t, s, "CREATE DATABASE d", "")
	for _, name := range []string{"whole", "torn", "empty"} {
		want(t, s, "CREATE TABLE d."+name+" (a Int32) ENGINE = MergeTree ORDER BY a", "")
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"torn": 30, "empty": 0} {
		files, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", name+".sql"))
		if err != nil || len(files) != 1 {
			t.Fatalf("definitions of %s: %v, %v", name, files, err)
		}
		if err := os.Truncate(files[0], size); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s, "SELECT groupArray(name) FROM system.tables WHERE database = 'd'", "['whole']")
}

func TestServer_stopsAQueryWhoseClientIsGone(t *testing.T) {
	s := stand.Engine(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTPAddr()+"?query_id=long&readonly=2",
		strings.NewReader("SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-ClickHouse-User", s.User)
	req.Header.Set("X-ClickHouse-Key", s.Password)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	until(t, s, "SELECT count() FROM system.processes WHERE query_id = 'long'", "1")
	cancel()
	<-ended
	until(t, s, "SELECT count() FROM system.processes WHERE query_id = 'long'", "0")
}

// until asks again and again, at most for a while, until the answer is as wanted.
func until(t *testing.T, s *chengine.Server, sql, answer string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit := time.After(30 * time.Second)
	for {
		_, got := ask(t, s, s.User, s.Password, sql)
		if got == answer {
			return
		}
		select {
		case <-limit:
			t.Fatalf("%s: still %q, want %q", sql, got, answer)
		case <-again.C:
		}
	}
}

func TestServer_namesTheBusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	s, err := chengine.New(chengine.Config{DataDir: filepath.Join(t.TempDir(), "engine"), TCPPort: port})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(t.Context())
	if busy, ok := errors.AsType[*ports.TakenError](err); !ok || busy.Port != port {
		t.Fatalf("got %v, want that port %d is taken", err, port)
	}
}

func TestServer_refusesAFolderInUse(t *testing.T) {
	var cfg chengine.Config
	s := stand.Engine(t, func(c *chengine.Config) { cfg = *c })
	second, err := chengine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = second.Start(t.Context())
	if _, ok := errors.AsType[*chengine.RunningError](err); !ok {
		t.Fatalf("got %v, want a RunningError", err)
	}
	want(t, s, "SELECT 1", "1")
}

func TestServer_refusesAFolderThatTheEngineMisreads(t *testing.T) {
	_, err := chengine.New(chengine.Config{DataDir: filepath.Join(t.TempDir(), `back\slash`)})
	if err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Fatal(err)
	}
}

func TestServer_refusesDataOfALaterVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "engine")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "freshet.version"), []byte("100.1.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := chengine.New(chengine.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(t.Context())
	if version, ok := errors.AsType[*chengine.VersionError](err); !ok || version.Have != "100.1.2" {
		t.Fatalf("got %v, want a VersionError", err)
	}
}

func TestServer_saysWhyTheEngineEnded(t *testing.T) {
	var cfg chengine.Config
	s := stand.Engine(t, func(c *chengine.Config) { cfg = *c })
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	cfg.Library = filepath.Join(t.TempDir(), "missing.so")
	broken, err := chengine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "missing.so") {
		t.Fatalf("got %v, want the engine's message", err)
	}
}

func TestServer_saysWhatToDoWithADamagedFolder(t *testing.T) {
	var cfg chengine.Config
	s := stand.Engine(t, func(c *chengine.Config) { cfg = *c })
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	metadata := filepath.Join(cfg.DataDir, "metadata")
	if err := errors.Join(os.MkdirAll(metadata, 0o700), os.WriteFile(filepath.Join(metadata, "shop.sql"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	damaged, err := chengine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := damaged.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "delete the folder") {
		t.Fatalf("got %v, want the remedy", err)
	}
}
