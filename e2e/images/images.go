package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/freshet-io/freshet/e2e/kubebin"
	"github.com/freshet-io/freshet/local/toolchain"
)

// The names of the images.
const (
	// Freshet has the programs freshet and freshet-operator.
	Freshet = "freshet"
	// ClickHouse has a program clickhouse-server that takes a server's configuration and runs the engine's library.
	ClickHouse = "clickhouse-server"
	// PostgreSQL has the server, an entrypoint as in the official image, the programs of backups and psql, and what scripts of backups need of a system.
	PostgreSQL = "postgres"
	// Pause holds the namespaces of a pod.
	Pause = "pause"
	// Tests has the tests on pods, for clusters that are not this machine's: with kubectl and its plugin, Helm, psql, the chart and the samples.
	// It is built on demand.
	Tests = "tests"
	// Kafka has a Java runtime with the classes of a broker, of Kafka Connect and of Debezium's connector. Its arguments are those of java: options,
	// a main class and what that takes. It is built on demand: it takes a JDK and Maven.
	Kafka = "kafka"
)

// PauseRef is the reference of [Pause], which is in the configuration of a node and changes with nothing.
const PauseRef = localRegistry + "/pause:1"

// localRegistry can not exist: what is not there already must not be looked for elsewhere.
const localRegistry = "local.test"

// Image is an image in a file.
type Image struct {
	// Name is one of this package's names.
	Name string
	// Ref is what pods call it. Its tag changes with its content, except for PauseRef. Again is a second name of Freshet's, to which a test can
	// change; empty for the others.
	Ref, Again string
	// Path is its archive, for ctr images import, docker load or kind load image-archive.
	Path string
}

func (i Image) refs() []string {
	if i.Again == "" {
		return []string{i.Ref}
	}
	return []string{i.Ref, i.Again}
}

// keep is how many archives of an image stay in the cache. The largest has 600 MB.
const keep = 3

// Build returns the images, of those on demand the ones that demanded names, and builds those whose content is not in the cache yet. It is
// to be called inside of Freshet's module. The first time takes minutes, later ones a second where nothing has changed. Progress, if not
// nil, is called with what is done next. Several processes may call it at the same time: one builds, the others wait.
func Build(ctx context.Context, cache *toolchain.Cache, progress func(string), demanded ...string) ([]Image, error) {
	if progress == nil {
		progress = func(string) {}
	}
	known := recipes()
	for _, name := range demanded {
		if !slices.ContainsFunc(known, func(r recipe) bool { return r.name == name }) {
			return nil, fmt.Errorf("there is no image %q: %s and %s are built on demand", name, Kafka, Tests)
		}
	}
	b := builder{dir: filepath.Join(cache.Dir, "images"), progress: progress}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache of images: %w; set %s to another place", err, toolchain.CacheVariable)
	}
	unlock, err := toolchain.Lock(ctx, filepath.Join(b.dir, ".lock"), func() { progress("waiting for another process that builds images") })
	if err != nil {
		return nil, err
	}
	defer unlock()
	in, err := b.inputs(ctx, cache, slices.Contains(demanded, Kafka), slices.Contains(demanded, Tests))
	if err != nil {
		return nil, err
	}
	var images []Image
	for _, r := range known {
		if r.onDemand && !slices.Contains(demanded, r.name) {
			continue
		}
		image, err := b.image(ctx, r, in)
		if err != nil {
			return nil, fmt.Errorf("build image %s: %w", r.name, err)
		}
		images = append(images, image)
	}
	return images, nil
}

// builder writes to a folder whose lock is held.
type builder struct {
	dir      string
	progress func(string)
}

// inputs are what images are made of.
type inputs struct {
	programs string // folder of the programs of this module
	postgres string // folder of PostgreSQL
	clients  string // folder of psql and the like
	engine   string // path of the engine's library
	// Of Kafka, empty unless demanded: the folder of its jars, and that of a Java runtime.
	kafka, java string
	// Of Tests, empty unless demanded: the module's root, and the paths of what they run.
	module, kubectl, helm string
}

func (b builder) inputs(ctx context.Context, cache *toolchain.Cache, kafka, tests bool) (in inputs, err error) {
	if kafka {
		b.progress("fetching Kafka")
		if in.kafka, err = cache.Kafka(ctx); err != nil {
			return in, err
		}
		if in.java, err = b.javaRuntime(ctx); err != nil {
			return in, err
		}
	}
	b.progress("fetching PostgreSQL")
	if in.postgres, err = cache.Postgres(ctx); err != nil {
		return in, err
	}
	if in.clients, err = cache.PostgresPrograms(ctx); err != nil {
		return in, err
	}
	b.progress("fetching the columnar engine")
	if in.engine, err = cache.Engine(ctx); err != nil {
		return in, err
	}
	if tests {
		progress := kubebin.Report(b.progress, time.Now, 10*time.Second)
		for _, tool := range []struct {
			set  kubebin.Set
			name string
			path *string
		}{{kubebin.Kubectl, "kubectl", &in.kubectl}, {kubebin.Helm, "helm", &in.helm}} {
			dir, err := kubebin.Ensure(ctx, cache, tool.set, progress)
			if err != nil {
				return in, err
			}
			*tool.path = filepath.Join(dir, tool.name)
		}
	}
	b.progress("compiling the programs")
	if in.module, err = moduleRoot(ctx); err != nil {
		return in, err
	}
	in.programs, err = buildPrograms(ctx, b.dir, in.module, tests)
	return in, err
}

// image returns an image, from the cache if its content is there.
func (b builder) image(ctx context.Context, r recipe, in inputs) (Image, error) {
	layers, err := r.layers(ctx, in)
	if err != nil {
		return Image{}, err
	}
	digest, err := contentDigest(layers, r.config, r.twice)
	if err != nil {
		return Image{}, err
	}
	image := Image{Name: r.name, Ref: r.ref, Path: filepath.Join(b.dir, r.name+"-"+digest+".tar")}
	if image.Ref == "" {
		image.Ref = localRegistry + "/" + r.name + ":dev-" + digest
	}
	if r.twice {
		image.Again = image.Ref + "-again"
	}
	now := time.Now() // the cache keeps what was used last
	err = os.Chtimes(image.Path, now, now)
	if err == nil {
		return image, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Image{}, err
	}
	b.progress("writing image " + image.Ref)
	if err := b.write(ctx, image, layers, r.config); err != nil {
		return Image{}, err
	}
	return image, b.forget(r.name)
}

// forget removes the archives of an image that were not used for the longest time.
func (b builder) forget(name string) error {
	// A digest has no dash, so that no other image's name begins with this one's.
	archives, err := filepath.Glob(filepath.Join(b.dir, name+"-[0-9a-f]*.tar"))
	if err != nil {
		return err
	}
	used := map[string]time.Time{}
	for _, path := range archives {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		used[path] = info.ModTime()
	}
	slices.SortFunc(archives, func(x, y string) int { return cmp.Or(used[y].Compare(used[x]), cmp.Compare(x, y)) })
	for _, path := range archives[min(keep, len(archives)):] {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
