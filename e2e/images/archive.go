package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// write writes an image's archive, beside first.
func (b builder) write(ctx context.Context, image Image, layers []tree, config v1.Config) error {
	staging := image.Path + ".staging" // the lock is held: what lies here is the rest of an interrupted build
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	built, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: "amd64", OS: "linux", Config: config})
	if err != nil {
		return err
	}
	for i, t := range layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		layer, err := newLayer(t, filepath.Join(staging, fmt.Sprintf("layer-%d", i)))
		if err != nil {
			return err
		}
		if built, err = mutate.AppendLayers(built, layer); err != nil {
			return err
		}
	}
	named := map[name.Tag]v1.Image{}
	for _, ref := range image.refs() {
		tag, err := name.NewTag(ref, name.StrictValidation)
		if err != nil {
			return err
		}
		named[tag] = built
	}
	archive := filepath.Join(staging, "archive")
	if err := tarball.MultiWriteToFile(archive, named); err != nil {
		return err
	}
	return os.Rename(archive, image.Path)
}

// layer is a layer in a file. It is not compressed: that would take longer than all else.
type layer struct {
	file   string
	digest v1.Hash
	size   int64
}

func newLayer(t tree, file string) (*layer, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if err := errors.Join(t.archive(io.MultiWriter(f, h)), f.Close()); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	return &layer{file: file, size: info.Size(), digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}}, nil
}

// Digest implements [v1.Layer].
func (l *layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID implements [v1.Layer].
func (l *layer) DiffID() (v1.Hash, error) { return l.digest, nil }

// Compressed implements [v1.Layer].
func (l *layer) Compressed() (io.ReadCloser, error) { return os.Open(l.file) }

// Uncompressed implements [v1.Layer].
func (l *layer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }

// Size implements [v1.Layer].
func (l *layer) Size() (int64, error) { return l.size, nil }

// MediaType implements [v1.Layer].
func (l *layer) MediaType() (types.MediaType, error) { return types.DockerUncompressedLayer, nil }
