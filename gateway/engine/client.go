package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/chpool"
	"github.com/ClickHouse/ch-go/proto"
)

// ErrUnavailable says that the engine could not be reached or went away in the middle of a query.
var ErrUnavailable = errors.New("columnar engine is unavailable")

// Config says where the engine is.
type Config struct {
	Addr, Database, User, Password string
	// MaxConns bounds the connections; zero means [DefaultConns].
	MaxConns int32
	// Settings are sent with every query.
	Settings map[string]string
}

// DefaultConns is how many connections are enough for queries that all make progress: four for each CPU.
func DefaultConns() int32 { return int32(4 * runtime.NumCPU()) }

// Client is a pool of connections to one engine. It is safe for concurrent use.
type Client struct {
	pool     *chpool.Pool
	settings []ch.Setting
}

// Open prepares a client. It does not wait for the engine: queries fail with [ErrUnavailable] until it is there.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	maxConns := cfg.MaxConns
	if maxConns <= 0 {
		maxConns = DefaultConns()
	}
	pool, err := chpool.New(ctx, chpool.Options{
		ClientOptions: ch.Options{
			Address: cfg.Addr, Database: cfg.Database, User: cfg.User, Password: cfg.Password,
			Compression: ch.CompressionDisabled, DialTimeout: 2 * time.Second,
			ClientName: "freshet",
		},
		MaxConns:        maxConns,
		MaxConnLifetime: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("open engine pool %q: %w", cfg.Addr, err)
	}
	return &Client{pool: pool, settings: settingList(cfg.Settings)}, nil
}

// Close ends the connections.
func (c *Client) Close() { c.pool.Close() }

// Ping asks the engine for an answer. An error wraps [ErrUnavailable].
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.pool.Acquire(ctx)
	if err == nil {
		if err = conn.Ping(ctx); err == nil {
			conn.Release()
			return nil
		}
		_ = conn.Close() // the pool's own Ping would keep it, and find it broken for ever
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Query runs sql, decodes every block of its result into result's columns and calls onBlock with
// the number of rows. While the query runs, and once more at its end, onCPU is told of the CPU time that the engine has
// consumed for it since the last time; nil: nobody. An exception of the engine comes as [*ch.Exception]; anything else
// that went wrong with the connection wraps [ErrUnavailable].
func (c *Client) Query(ctx context.Context, sql string, settings map[string]string, result proto.Results, onBlock func(rows int) error, onCPU func(time.Duration)) error {
	var sinkErr error
	var consumed usage
	err := c.do(ctx, ch.Query{
		Body:     sql,
		Settings: append(slices.Clip(c.settings), settingList(settings)...),
		Result:   result,
		OnResult: func(_ context.Context, b proto.Block) error {
			if b.Rows == 0 {
				return nil
			}
			sinkErr = onBlock(b.Rows)
			return sinkErr
		},
		OnProfileEvents: func(_ context.Context, events []ch.ProfileEvent) error {
			if used := consumed.add(events); used > 0 && onCPU != nil {
				onCPU(used)
			}
			return nil
		},
	})
	if onCPU != nil && (err == nil || ch.IsException(err)) {
		onCPU(handling)
	}
	return classify(ctx, err, sinkErr)
}

// do runs a query on a pooled connection.
func (c *Client) do(ctx context.Context, q ch.Query) error {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	return runOn(ctx, conn, q)
}

// connection is one that is taken from the pool, and goes back to it by Release. Close takes it out for good.
type connection interface {
	Do(ctx context.Context, q ch.Query) error
	Close() error
	Release()
}

// lingering is how long a query may take to end after its context has. It usually does at once, and the engine is told.
const lingering = 2 * time.Second

// runOn runs a query on a connection, which is not used again unless the engine itself ended the query: what is
// left of a result that was given up would be taken for the next one's. (ch-go v0.74 closes
// such a connection too, but not always: its canceller may run before its context ends. Nor does it end while it reads a block or writes: an
// engine that hangs then would hold the query, so that the connection is closed.)
func runOn(ctx context.Context, conn connection, q ch.Query) error {
	var once sync.Once
	discard := func() { once.Do(func() { _ = conn.Close() }) } // what matters went wrong before
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer watching.Done()
		late := time.NewTimer(lingering)
		defer late.Stop()
		select {
		case <-ended:
		case <-late.C:
			discard()
		}
	})
	err := conn.Do(ctx, q)
	close(ended)
	if stop() {
		watching.Done()
	}
	watching.Wait()
	if err != nil && !ch.IsException(err) {
		discard()
		return err
	}
	conn.Release()
	return err
}

// classify tells apart the caller's end, the sink's error, the engine's exceptions and a lost connection.
func classify(ctx context.Context, err, sinkErr error) error {
	switch {
	case err == nil:
		return nil
	case sinkErr != nil:
		return sinkErr
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if ex, ok := ch.AsException(err); ok {
		return ex
	}
	if isDisconnect(err) {
		// Not wrapped: an io.EOF of the connection must not be taken for the end of a result.
		return fmt.Errorf("%w: %v", ErrUnavailable, err) //nolint:errorlint // as said
	}
	return fmt.Errorf("query columnar engine: %w", err)
}

// isDisconnect reports whether a query failed for want of a connection: none could be made, it was closed on either side, or it timed out. All errors of
// the network itself, such as a reset, are a [net.Error].
func isDisconnect(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ch.ErrClosed)
}

func settingList(m map[string]string) []ch.Setting {
	list := make([]ch.Setting, 0, len(m))
	for k, v := range m {
		list = append(list, ch.Setting{Key: k, Value: v, Important: true})
	}
	slices.SortFunc(list, func(a, b ch.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}
