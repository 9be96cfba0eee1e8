package cockroach

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// Node is a node that is not decommissioned.
type Node struct {
	ID int
	// Address is host:port, as the node advertises it; empty: it has not told it yet.
	Address string
	// Live nodes answer, Leaving ones are being decommissioned, and Draining ones let go of clients and leases, which they do when their replicas
	// are gone.
	Live, Leaving, Draining bool
	// Replicas is how many it holds, as it said some seconds ago.
	Replicas int
}

// nodesSQL asks what is recorded of nodes, and not what gossip has: that forgets the address of a node that is down for long.
const nodesSQL = `SELECT l.node_id::STRING, coalesce(s.address, ''), coalesce(g.is_live, false)::STRING, (l.membership = 'decommissioning')::STRING,
	l.draining::STRING, coalesce(c.replicas, 0)::STRING
	FROM crdb_internal.kv_node_liveness AS l
	LEFT JOIN crdb_internal.kv_node_status AS s ON s.node_id = l.node_id
	LEFT JOIN crdb_internal.gossip_nodes AS g ON g.node_id = l.node_id
	LEFT JOIN (SELECT node_id, sum(range_count) AS replicas FROM crdb_internal.kv_store_status GROUP BY node_id) AS c ON c.node_id = l.node_id
	WHERE l.membership <> 'decommissioned' ORDER BY l.node_id`

// Nodes returns all nodes that are not decommissioned, in the order of their IDs.
func Nodes(ctx context.Context, s Session) ([]Node, error) {
	// Recent versions close crdb_internal unless a session asks for it. Older ones do not know the setting.
	var refused *pgconn.PgError
	if _, err := s.Query(ctx, "SET allow_unsafe_internals = on"); err != nil && !errors.As(err, &refused) {
		return nil, fmt.Errorf("ask for crdb_internal: %w", err)
	}
	rows, err := s.Query(ctx, nodesSQL)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var nodes []Node
	for _, row := range rows {
		n, err := node(row)
		if err != nil {
			return nil, fmt.Errorf("list nodes: read %q: %w", row, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func node(row []string) (Node, error) {
	if len(row) != 6 {
		return Node{}, fmt.Errorf("%d columns, want 6", len(row))
	}
	id, err := strconv.Atoi(row[0])
	if err != nil {
		return Node{}, err
	}
	replicas, err := strconv.ParseFloat(row[5], 64) // a sum is a decimal
	if err != nil {
		return Node{}, err
	}
	return Node{ID: id, Address: row[1], Live: row[2] == "true", Leaving: row[3] == "true", Draining: row[4] == "true", Replicas: int(replicas)}, nil
}
