package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// RotateAnnotation asks for new passwords of the builtin PostgreSQL and of the engines whenever its value becomes
// another.
const RotateAnnotation = "freshet.io/rotate-passwords"

// issueCredentials makes the engines' password, and another one when that is asked for: units take it over as they
// restart one by one.
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

// oltpRole is a role of the builtin PostgreSQL with its credentials.
type oltpRole struct {
	manifest.OLTPRole
	manifest.Credentials
}

// databaseRoles reads the passwords of the builtin PostgreSQL's roles, or makes them, and the next ones where that is
// asked for. The next one is written down before the database learns it, so that whoever is interrupted in between
// knows both.
func (r *Reconciler) databaseRoles(ctx context.Context, s *state) error {
	secrets := map[string]map[string][]byte{}
	for _, name := range []string{manifest.OLTPSuperuserName(s.cluster), manifest.OLTPUnitsName(s.cluster), manifest.OLTPName(s.cluster)} {
		var err error
		if secrets[name], err = r.readSecret(ctx, s, name); err != nil {
			return err
		}
	}
	s.objects.SoleRole = secrets[manifest.OLTPSuperuserName(s.cluster)] == nil && manifest.IsSoleRole(secrets[manifest.OLTPName(s.cluster)])
	asked, anew := s.cluster.Annotations[RotateAnnotation], false
	for _, role := range s.objects.OLTPRoles() {
		secret := secrets[role.Secret]
		c := manifest.Credentials{
			Password: string(secret[manifest.PasswordKey]), Next: string(secret[manifest.NextPasswordKey]), Rotation: string(secret[manifest.RotationKey]),
			Provisioned: len(secret[manifest.ProvisionedKey]) > 0, SlotLimit: string(secret[manifest.SlotLimitKey]),
		}
		switch {
		case c.Password == "":
			c, anew = manifest.Credentials{Password: rand.Text(), Rotation: asked}, true
		case c.Next == "" && asked != "" && asked != c.Rotation:
			c.Next = rand.Text()
		}
		s.roles = append(s.roles, oltpRole{role, c})
	}
	s.roles[0].Provisioned = s.roles[0].Provisioned && !anew
	return nil
}

// roleURI is how a role reaches the builtin database.
func (s *state) roleURI(role manifest.OLTPRole, c manifest.Credentials) string {
	return string(s.objects.RoleSecret(role, c, s.connection.CA).Data["uri"])
}

// provisionRoles makes the roles of applications and units, once.
func (r *Reconciler) provisionRoles(ctx context.Context, s *state) error {
	if s.objects.SoleRole || s.roles[0].Provisioned {
		return nil
	}
	superuser, units, owner := s.roles[0], s.roles[1], s.roles[2]
	connection := database.Connection{URI: s.roleURI(superuser.OLTPRole, superuser.Credentials), CA: s.connection.CA}
	err := r.Databases.Provision(ctx, connection, database.Role{Name: owner.Name, Password: owner.Password}, database.Role{Name: units.Name, Password: units.Password})
	if err != nil {
		return err
	}
	s.roles[0].Provisioned = true
	return r.ownWithVolume(ctx, s, s.objects.RoleSecret(superuser.OLTPRole, s.roles[0].Credentials, s.connection.CA))
}

// limitSlots tells the builtin PostgreSQL how much of its log it may keep for a unit that is away, by what its volume
// has, whenever that is another than it was told last. It takes that over while it runs.
func (r *Reconciler) limitSlots(ctx context.Context, s *state) error {
	volume := s.oltpVolumes.capacity()
	limit := s.objects.SlotLimit(volume)
	superuser := s.roles[0]
	if volume.IsZero() || limit == "" || limit == superuser.SlotLimit {
		return nil
	}
	err := r.Databases.LimitSlots(ctx, database.Connection{URI: s.roleURI(superuser.OLTPRole, superuser.Credentials), CA: s.connection.CA}, limit)
	if l, ok := errors.AsType[*lack.Lack](err); ok {
		s.databaseLack = cmp.Or(s.databaseLack, l) // units that run go on
		return nil
	}
	if err != nil {
		return err
	}
	s.roles[0].SlotLimit = limit
	return r.ownWithVolume(ctx, s, s.objects.RoleSecret(superuser.OLTPRole, s.roles[0].Credentials, s.connection.CA))
}

// rotatePasswords gives the roles of the builtin PostgreSQL their next passwords, if there are any. From then on new
// connections need them: the units restart one by one with theirs.
func (r *Reconciler) rotatePasswords(ctx context.Context, s *state) error {
	for i, role := range s.roles {
		if role.Next == "" {
			continue
		}
		next := manifest.Credentials{Password: role.Next, Rotation: s.cluster.Annotations[RotateAnnotation], Provisioned: role.Provisioned, SlotLimit: role.SlotLimit}
		now, after := s.roleURI(role.OLTPRole, role.Credentials), s.roleURI(role.OLTPRole, next)
		err := r.Databases.SetPassword(ctx, database.Connection{URI: now, CA: s.connection.CA}, database.Connection{URI: after, CA: s.connection.CA})
		if err != nil {
			return fmt.Errorf("rotate the password of role %q of the builtin database: %w", role.Name, err)
		}
		if err := r.ownWithVolume(ctx, s, s.objects.RoleSecret(role.OLTPRole, next, s.connection.CA)); err != nil {
			return err
		}
		s.roles[i].Credentials = next
		if s.connection.URI == now {
			s.connection.URI = after
		}
	}
	return nil
}
