package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/document"
	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/timezone"
	"github.com/freshet-io/freshet/gateway/translate"
)

// EngineAddress says where a columnar engine is.
type EngineAddress struct{ HTTP, TCP, User, Password string }

// Direct is the columnar route without gateway, stream and replica: translation, engine and finishing, on
// tables that are copied once. Its tables are copied by PostgreSQL's own arithmetic, independently of the
// replica's code.
type Direct struct {
	address  EngineAddress
	postgres *pgconn.PgConn
	database string
	client   *engine.Client
	tables   catalog
	rows     map[cdc.TableID]int64
	timeZone string
	zones    map[string]*timezone.Zone
}

// OpenDirect copies the tables of a PostgreSQL database into a database of the engine.
func OpenDirect(ctx context.Context, a EngineAddress, zones *timezone.Directory, dsn, database string, w *sqlgen.World) (d *Direct, err error) {
	d = &Direct{address: a, database: database, timeZone: w.TimeZone, zones: map[string]*timezone.Zone{}}
	for _, name := range sqlgen.TimeZones {
		zone, err := zones.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		d.zones[name] = zone
	}
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to copy world %d: %w", w.Seed, err)
	}
	defer func() {
		if err != nil {
			_ = conn.Close(ctx)
		}
	}()
	d.postgres = conn
	if d.tables, err = readCatalog(ctx, conn); err != nil {
		return nil, err
	}
	if err := d.post(ctx, "CREATE DATABASE "+database, nil); err != nil {
		return nil, err
	}
	for _, t := range d.tables {
		if err := d.copyTable(ctx, conn, t); err != nil {
			return nil, err
		}
	}
	d.rows = map[cdc.TableID]int64{}
	for i, t := range w.Tables {
		// The worlds are small. Estimates that are wrong in most of them have large tables' plans tried as well.
		d.rows[d.tables[t.Name].ID] = int64(len(t.Rows)) << (5 * ((w.Seed + uint64(i)) % 4))
	}
	d.client, err = engine.Open(ctx, engine.Config{Addr: a.TCP, Database: database, User: a.User, Password: a.Password,
		Settings: map[string]string{"compile_expressions": "0"}}) // as the gateway sends it with every query
	return d, err
}

// Close removes the engine's copy.
func (d *Direct) Close(ctx context.Context) error {
	d.client.Close()
	return errors.Join(d.postgres.Close(ctx), d.post(ctx, "DROP DATABASE "+d.database, nil))
}

// rank has PostgreSQL sort strings.
func (d *Direct) rank(ctx context.Context) finish.Rank {
	return func(collation string, values []string) ([]int, error) {
		types := pgtype.NewMap()
		list, err := types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, values, nil)
		if err != nil {
			return nil, err
		}
		r := d.postgres.ExecParams(ctx, "SELECT n - 1 FROM unnest($1::text[]) WITH ORDINALITY AS s(v, n) ORDER BY v COLLATE "+collation,
			[][]byte{list}, nil, []int16{pgtype.BinaryFormatCode}, nil).Read()
		places := make([]int, len(r.Rows))
		for i, row := range r.Rows {
			places[i] = int(number(row[0]))
		}
		return places, r.Err
	}
}

func (d *Direct) copyTable(ctx context.Context, conn *pgconn.PgConn, t *cdc.Table) error {
	var columns, input, print, read, key []string
	for _, c := range t.Columns {
		engineType, printed, reading := physical(c, c.Name)
		name := backquote(c.Name)
		inputType := engineType
		if reading != "" {
			inputType = "String"
			if !c.NotNull {
				reading = "if(isNull(%[1]s), NULL, " + strings.ReplaceAll(reading, "%s", "%[1]s") + ")"
			}
			read = append(read, fmt.Sprintf(reading, name))
		} else {
			read = append(read, name)
		}
		if !c.NotNull {
			engineType, inputType = "Nullable("+engineType+")", "Nullable("+inputType+")"
		}
		columns = append(columns, name+" "+engineType)
		input = append(input, name+" "+inputType)
		print = append(print, printed)
	}
	for _, k := range t.Key {
		key = append(key, backquote(t.Columns[k].Name))
	}
	create := fmt.Sprintf("CREATE TABLE %s (%s) ENGINE = MergeTree ORDER BY (%s)", d.name(t), strings.Join(columns, ", "), strings.Join(key, ", "))
	if err := d.post(ctx, create, nil); err != nil {
		return err
	}
	var rows bytes.Buffer
	query := fmt.Sprintf("COPY (SELECT %s FROM public.%s) TO STDOUT", strings.Join(print, ", "), sqlgen.QuoteIdent(t.Name))
	if _, err := conn.CopyTo(ctx, &rows, query); err != nil {
		return fmt.Errorf("copy table %s out: %w", t.Name, err)
	}
	if rows.Len() == 0 {
		return nil
	}
	structure := strings.ReplaceAll(strings.ReplaceAll(strings.Join(input, ", "), `\`, `\\`), "'", `\'`)
	insert := fmt.Sprintf("INSERT INTO %s SELECT %s FROM input('%s') FORMAT TSV", d.name(t), strings.Join(read, ", "), structure)
	stored, err := withDocuments(rows.Bytes(), t)
	if err != nil {
		return err
	}
	return d.post(ctx, insert, bytes.NewReader(stored))
}

// withDocuments puts the documents of rows in COPY's text format into the replica's form. They have no character that is escaped there but the backslash.
func withDocuments(rows []byte, t *cdc.Table) ([]byte, error) {
	lines := bytes.SplitAfter(rows, []byte("\n"))
	for i, line := range lines {
		fields := bytes.Split(line, []byte("\t"))
		for j, f := range fields {
			text, end := bytes.CutSuffix(f, []byte("\n"))
			if len(fields) != len(t.Columns) || t.Columns[j].Type != pgtype.JSONBOID || string(text) == `\N` {
				continue
			}
			stored, err := document.Append(nil, bytes.ReplaceAll(text, []byte(`\\`), []byte(`\`)))
			if err != nil {
				return nil, fmt.Errorf("document %s of table %s: %w", text, t.Name, err)
			}
			fields[j] = bytes.ReplaceAll(stored, []byte(`\`), []byte(`\\`))
			if end {
				fields[j] = append(fields[j], '\n')
			}
		}
		lines[i] = bytes.Join(fields, []byte("\t"))
	}
	return bytes.Join(lines, nil), nil
}

// name is the table's in the engine. As the replica's, it is not the user's.
func (d *Direct) name(t *cdc.Table) string { return fmt.Sprintf("%s.base_%d", d.database, t.ID) }

func backquote(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

// post runs a statement over the engine's HTTP protocol.
func (d *Direct) post(ctx context.Context, sql string, body io.Reader) error {
	u := url.URL{Scheme: "http", Host: d.address.HTTP, Path: "/", RawQuery: url.Values{"query": {sql}}.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return fmt.Errorf("prepare engine statement: %w", err)
	}
	request.SetBasicAuth(d.address.User, d.address.Password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("send engine statement: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("run engine statement %.200q: %s: %w", sql, bytes.TrimSpace(text), err)
	}
	return nil
}

// engineTimeout bounds a query; what takes longer counts as a defect.
const engineTimeout = 20 * time.Second

// Answer implements [Columnar].
func (d *Direct) Answer(ctx context.Context, st Statement) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	plan, err := d.plan(st)
	if err != nil {
		if u, ok := errors.AsType[*translate.Unsupported](err); ok {
			return Outcome{Reason: u.Reason}, nil
		}
		return Outcome{Defect: err}, nil
	}
	formats := make([]int16, len(plan.Columns()))
	if len(st.ResultFormats) == 1 { // not of a Sort's columns
		for i := range plan.Output {
			formats[i] = st.ResultFormats[0]
		}
	}
	decoder, err := finish.NewDecoder(plan.Columns(), formats, finish.Style{TimeZone: d.timeZone, Zone: d.zones[d.timeZone]})
	switch {
	case errors.Is(err, finish.ErrStyle):
		return Outcome{Reason: "output style"}, nil
	case err != nil:
		return Outcome{Defect: err}, nil
	}
	sql := plan.SQL(func(i int) string { return d.name(plan.Relations[i].Table) })
	answer := Answer{}
	for _, c := range plan.Output {
		answer.Columns = append(answer.Columns, Column{Name: c.Name, OID: c.Type})
	}
	err = d.client.Query(ctx, sql, plan.Settings, decoder.Results(), func(n int) error {
		rows, err := decoder.Encode(n)
		if err != nil {
			return err
		}
		answer.Rows = slices.AppendSeq(answer.Rows, rows.Values())
		return nil
	}, nil)
	kind, guarded := guardKind(err)
	switch {
	case finish.IsGuard(err) && guarded:
		return Outcome{Reason: "guard: " + kind, EngineSQL: sql}, nil
	case err != nil:
		return Outcome{Defect: err, EngineSQL: sql}, nil
	}
	if plan.Sort != nil {
		answer.Rows, err = plan.Sort.Rows(answer.Rows, d.rank(ctx))
	}
	switch {
	case errors.Is(err, finish.ErrTooMany):
		return Outcome{Reason: err.Error(), EngineSQL: sql}, nil
	case err != nil:
		return Outcome{Defect: err, EngineSQL: sql}, nil
	}
	return Outcome{Columnar: true, Answer: &answer, EngineSQL: sql}, nil
}

// guardKind shortens a guard's message to what does not depend on the data; false if the error only mentions
// a guard, as one does that quotes the statement. Only data make a division fail.
func guardKind(err error) (string, bool) {
	e, ok := errors.AsType[*ch.Exception](err)
	if !ok { // one that is raised where rows are written
		return "a value written", finish.IsGuard(err)
	}
	message := strings.TrimPrefix(e.Message, "DB::Exception: ")
	message, _, _ = strings.Cut(message, ": In scope ") // the query in which it is computed as the statement is analyzed
	if rest, ok := strings.CutPrefix(message, finish.GuardMessage); ok {
		kind, _, _ := strings.Cut(rest, ":")
		return strings.TrimSpace(kind), true
	}
	return e.Code.String(), e.Code == proto.ErrIllegalDivision || !strings.Contains(message, finish.GuardMessage)
}

func (d *Direct) plan(st Statement) (*translate.Plan, error) {
	tree, err := syntax.Parse(st.SQL)
	if err != nil {
		return nil, &translate.Unsupported{Reason: "does not parse"}
	}
	if c := tree.Classify(st.SQL); !c.Candidate {
		return nil, &translate.Unsupported{Reason: "no candidate: " + c.Reason}
	}
	env := translate.Env{Catalog: d.tables, SearchPath: []string{"pg_catalog", "public"}, TimeZone: d.timeZone, Zones: d.zones, Traits: translate.Traits{BytewiseCollation: true, ASCIICase: true, UnfusedFloats: true}, ParamOIDs: st.Description.ParamOIDs,
		Rows: func(id cdc.TableID) int64 { return d.rows[id] }}
	for _, f := range st.Description.Fields {
		env.Fields = append(env.Fields, translate.Field{Name: f.Name, TypeOID: f.DataTypeOID, Modifier: f.TypeModifier, TableOID: f.TableOID, Attr: int16(f.TableAttributeNumber)})
	}
	for i, v := range st.Values {
		env.Params = append(env.Params, translate.Param{Null: v == nil, Format: st.Formats[i], Value: v})
	}
	env.Enums = d.tables.enums()
	plan, err := translate.Translate(tree, env)
	if refused, ok := translate.AsUnsupported(err); ok && refused.Defect != "" {
		return nil, errors.New("the translation panicked: " + refused.Defect)
	}
	return plan, err
}
