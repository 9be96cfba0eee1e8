package images

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestPush_putsAnImageIntoARegistryByAllItsNames(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	image := Image{Name: Freshet, Ref: localRegistry + "/freshet:dev-1", Again: localRegistry + "/freshet:dev-1-again", Path: filepath.Join(t.TempDir(), "freshet.tar")}
	content := tree{}
	content.text("etc/motd", "welcome\n")
	if err := (builder{}).write(t.Context(), image, []tree{content}, v1.Config{Entrypoint: []string{"freshet"}}); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	there, err := Push(t.Context(), image, host+"/team/")
	if err != nil {
		t.Fatal(err)
	}
	want := image
	want.Ref, want.Again = host+"/team/freshet:dev-1", host+"/team/freshet:dev-1-again"
	if d := cmp.Diff(want, there); d != "" {
		t.Errorf("its names there (-want +got):\n%s", d)
	}
	var digests []v1.Hash
	for _, ref := range there.refs() {
		tag, err := name.NewTag(ref)
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Image(tag)
		if err != nil {
			t.Fatal(err)
		}
		config, err := pulled.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"freshet"}, config.Config.Entrypoint); d != "" {
			t.Errorf("entrypoint of %s (-want +got):\n%s", ref, d)
		}
		digest, err := pulled.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("the two names are of different images: %v", digests)
	}
	if got, want := References([]Image{there, {Name: Pause, Ref: PauseRef}}), "freshet="+there.Ref+",freshet-again="+there.Again+",pause="+PauseRef; got != want {
		t.Errorf("references %s, want %s", got, want)
	}
}
