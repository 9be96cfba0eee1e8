package images

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Push pushes an image to a registry, or a part of one, with the credentials of docker login, and returns the image by its names there. A registry
// on loopback is spoken to without TLS.
func Push(ctx context.Context, image Image, registry string) (Image, error) {
	tag, err := name.NewTag(image.Ref)
	if err != nil {
		return Image{}, err
	}
	content, err := tarball.ImageFromPath(image.Path, &tag)
	if err != nil {
		return Image{}, fmt.Errorf("read archive %s: %w", image.Path, err)
	}
	there := image
	for _, ref := range []*string{&there.Ref, &there.Again} {
		if *ref == "" {
			continue
		}
		*ref = strings.TrimSuffix(registry, "/") + strings.TrimPrefix(*ref, localRegistry)
		target, err := name.NewTag(*ref, name.StrictValidation)
		if err != nil {
			return Image{}, err
		}
		if err := remote.Write(target, content, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return Image{}, err
		}
	}
	return there, nil
}
