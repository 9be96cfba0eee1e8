package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// SQLSTATEs that the source tells apart.
const (
	stateInsufficientPrivilege = "42501"
	stateUndefinedTable        = "42P01"
	stateUndefinedObject       = "42704"
	stateDuplicateObject       = "42710"
	stateLockNotAvailable      = "55P03"
	stateDeadlock              = "40P01"
)

func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

func ident(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// refresh brings registry and publication in line with the catalog, and queues what the consumer must learn.
// Calls are serialised by s.refreshing.
func (s *Source) refresh(ctx context.Context) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	// Definitions go into the registry before the publication changes: the stream must know
	// a table when its first change arrives.
	there, err := s.readDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, id := range s.registry.known() {
		if !there[id] {
			s.registry.drop(id)
		}
	}
	changed, err := s.publish(ctx)
	if err != nil && !lockHeld(err) {
		return err
	}
	held := err
	if len(changed) > 0 {
		if _, err := s.readDefinitions(ctx, changed...); err != nil {
			return err
		}
	}
	s.registry.announceNews()
	s.metrics.tables(s.registry)
	return held
}

// readDefinitions puts the definitions of the selected tables into the registry, or those of some of them, and returns
// which there are.
func (s *Source) readDefinitions(ctx context.Context, ids ...cdc.TableID) (there map[cdc.TableID]bool, err error) {
	defs, err := s.discover(ctx, ids...)
	if err != nil {
		return nil, err
	}
	there = map[cdc.TableID]bool{}
	for _, d := range defs {
		there[d.table.ID] = true
		s.registry.put(d)
	}
	return there, nil
}

// publish makes the publication name exactly the tables that can be replicated. It returns those that are in it
// otherwise than before, or not any more, which their definitions tell.
func (s *Source) publish(ctx context.Context) (changed []cdc.TableID, err error) {
	corrected, err := s.ensurePublication(ctx)
	if err != nil {
		return nil, err
	}
	actual, err := s.publishedTables(ctx)
	if err != nil {
		return nil, err
	}
	wanted := s.registry.replicable()
	slices.Sort(wanted)
	var held error // by locks of the application's, which keep no other table off
	for id, p := range actual {
		if slices.Contains(wanted, id) && !p.narrowed {
			continue
		}
		switch err := s.unpublishTable(ctx, p); {
		case lockHeld(err):
			held = errors.Join(held, err)
		case err != nil:
			return changed, err
		default:
			delete(actual, id)
			changed = append(changed, id)
		}
	}
	for _, id := range wanted {
		added := false
		if _, has := actual[id]; !has {
			added, err = s.publishTable(ctx, id)
			switch {
			case lockHeld(err):
				held = errors.Join(held, err)
			case err != nil:
				return changed, err
			}
		}
		if added || corrected {
			changed = append(changed, id)
		}
	}
	return changed, held
}

// lockHeld reports whether an application's lock was in the way.
func lockHeld(err error) bool {
	code := sqlState(err)
	return code == stateLockNotAvailable || code == stateDeadlock
}

const (
	// publishesAll says of a publication p that it publishes all changes of its tables.
	publishesAll = `(p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate AND p.pubviaroot AND coalesce(to_jsonb(p)->>'pubgencols', 's') = 's')`
	// narrowsTable says of a publication's row r for a table that it leaves rows or columns out.
	narrowsTable = `coalesce(to_jsonb(r)->>'prattrs', to_jsonb(r)->>'prqual') IS NOT NULL`
)

type publishedTable struct {
	id           cdc.TableID
	schema, name string
	narrowed     bool // by a column list or a row filter
}

func (s *Source) publishedTables(ctx context.Context) (map[cdc.TableID]publishedTable, error) {
	rows, err := s.pool.Query(ctx, `SELECT r.prrelid, n.nspname::text, c.relname::text,
			`+narrowsTable+`
		FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
		JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE p.pubname = $1`, s.cfg.Publication)
	if err != nil {
		return nil, fmt.Errorf("read publication %q: %w", s.cfg.Publication, err)
	}
	out := map[cdc.TableID]publishedTable{}
	var t publishedTable
	_, err = pgx.ForEachRow(rows, []any{(*uint32)(&t.id), &t.schema, &t.name, &t.narrowed}, func() error {
		out[t.id] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read publication %q: %w", s.cfg.Publication, err)
	}
	return out, nil
}

// ensurePublication creates the publication or corrects its options, and reports whether it did.
func (s *Source) ensurePublication(ctx context.Context) (corrected bool, err error) {
	options := "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
	if s.serverVersion.Load() >= 180000 {
		options += ", publish_generated_columns = stored"
	}
	var all, complete bool
	err = s.pool.QueryRow(ctx, "SELECT p.puballtables, "+publishesAll+" FROM pg_publication p WHERE p.pubname = $1", s.cfg.Publication).Scan(&all, &complete)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		s.republished, corrected = true, true
		_, err = s.pool.Exec(ctx, "CREATE PUBLICATION "+ident(s.cfg.Publication)+" WITH ("+options+")")
		if sqlState(err) == stateDuplicateObject {
			err = nil // another unit was faster; it uses the same options
		}
	case err == nil && all:
		return false, &cdc.TerminalError{
			Code:   cdc.CodePublicationMismatch,
			Detail: fmt.Sprintf("publication %q is FOR ALL TABLES", s.cfg.Publication),
			Remedy: "drop it or configure another publication name: this source maintains a publication of its own",
		}
	case err == nil && !complete:
		s.republished, corrected = true, true
		_, err = s.pool.Exec(ctx, "ALTER PUBLICATION "+ident(s.cfg.Publication)+" SET ("+options+")")
	}
	if err != nil {
		return false, s.privilegeOr(err, fmt.Sprintf("create publication %q", s.cfg.Publication),
			"GRANT CREATE ON DATABASE to the replication role, which must own the publication and the tables")
	}
	return corrected, nil
}

func (s *Source) publishTable(ctx context.Context, id cdc.TableID) (added bool, err error) {
	d, _ := s.registry.get(id)
	if d == nil {
		return false, nil
	}
	s.republished = true
	_, err = s.pool.Exec(ctx, "ALTER PUBLICATION "+ident(s.cfg.Publication)+" ADD TABLE ONLY "+ident(d.table.Schema, d.table.Name))
	switch sqlState(err) {
	case stateDuplicateObject:
		err = nil
	case stateInsufficientPrivilege:
		s.registry.stop(id, &cdc.TableError{
			Code: cdc.CodePrivilege, Table: d.table.Schema + "." + d.table.Name, Detail: err.Error(),
			Remedy: "make the replication role a member of the owner of table and publication",
		})
		return false, nil
	case stateUndefinedTable:
		return false, nil // dropped or renamed meanwhile: the next refresh sees it
	}
	if err != nil {
		return false, fmt.Errorf("publish table %s.%s: %w", d.table.Schema, d.table.Name, err)
	}
	return true, nil
}

func (s *Source) unpublishTable(ctx context.Context, t publishedTable) error {
	s.republished = true
	_, err := s.pool.Exec(ctx, "ALTER PUBLICATION "+ident(s.cfg.Publication)+" DROP TABLE ONLY "+ident(t.schema, t.name))
	if code := sqlState(err); code == stateUndefinedTable || code == stateUndefinedObject {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take table %s.%s off the publication: %w", t.schema, t.name, err)
	}
	return nil
}

// privilegeOr makes a lack of privilege terminal and wraps any other error.
func (s *Source) privilegeOr(err error, doing, remedy string) error {
	if sqlState(err) == stateInsufficientPrivilege {
		return &cdc.TerminalError{Code: cdc.CodePrivilege, Detail: doing + ": " + err.Error(), Remedy: remedy, Err: err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
