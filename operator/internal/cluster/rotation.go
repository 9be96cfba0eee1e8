package cluster

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// RotateAnnotation asks for new passwords of the builtin PostgreSQL and of the engines whenever its value becomes another.
const RotateAnnotation = "freshet.io/rotate-passwords"

// issueCredentials makes the engines' password, and another one when that is asked for: units take it over as they restart one by one.
func (r *Reconciler) issueCredentials(ctx context.Context, s *state) (task.Result, error) {
	secret, err := r.readSecret(ctx, s, manifest.EngineName(s.cluster))
	if err != nil {
		return task.Done, err
	}
	password, rotation := string(secret[manifest.PasswordKey]), string(secret[manifest.RotationKey])
	if asked := s.cluster.Annotations[RotateAnnotation]; password == "" || asked != "" && asked != rotation {
		password, rotation = rand.Text(), asked
	}
	issued := s.objects.EnginePassword(password, rotation)
	s.inputs = append(s.inputs, map[string][]byte{manifest.PasswordKey: issued.Data[manifest.PasswordKey]})
	return task.Done, r.own(ctx, s, issued)
}

// databaseCredentials reads the builtin PostgreSQL's password, or makes it, and the next one where that is asked for. The next one is written
// down before the database learns it, so that whoever is interrupted in between knows both.
func (r *Reconciler) databaseCredentials(ctx context.Context, s *state) (manifest.Credentials, error) {
	secret, err := r.readSecret(ctx, s, manifest.OLTPName(s.cluster))
	if err != nil {
		return manifest.Credentials{}, err
	}
	c := manifest.Credentials{
		Password: string(secret[manifest.PasswordKey]), Next: string(secret[manifest.NextPasswordKey]), Rotation: string(secret[manifest.RotationKey]),
	}
	asked := s.cluster.Annotations[RotateAnnotation]
	switch {
	case c.Password == "":
		c = manifest.Credentials{Password: rand.Text(), Rotation: asked}
	case c.Next == "" && asked != "" && asked != c.Rotation:
		c.Next = rand.Text()
	}
	return c, nil
}

// rotatePassword gives the builtin PostgreSQL the next password, if there is one. From then on new connections need it: the units restart
// one by one with it.
func (r *Reconciler) rotatePassword(ctx context.Context, s *state) error {
	if s.credentials.Next == "" {
		return nil
	}
	next := manifest.Credentials{Password: s.credentials.Next, Rotation: s.cluster.Annotations[RotateAnnotation]}
	secret := s.objects.Connection(next, s.connection.CA)
	if err := r.Databases.SetPassword(ctx, s.connection, database.Connection{URI: string(secret.Data["uri"]), CA: s.connection.CA}); err != nil {
		return fmt.Errorf("rotate the password of the builtin database: %w", err)
	}
	if err := r.ownWithVolume(ctx, s, secret); err != nil {
		return err
	}
	s.credentials, s.connection.URI = next, string(secret.Data["uri"])
	return nil
}
