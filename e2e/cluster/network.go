package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Addresses. The machine's network does not see them.
const (
	podsCIDR     = "10.45.0.0/16"
	servicesCIDR = "10.96.0.0/16"
)

func nodeIP(number int) string  { return fmt.Sprintf("10.44.0.%d", number) }
func podCIDR(number int) string { return fmt.Sprintf("10.45.%d.0/24", number) }

// network connects the nodes, each of which has a network namespace. That of the first is the one we are in.
func network(ctx context.Context, nodes int) error {
	commands := []string{
		"ip link set lo up",
		"ip link add nodes type bridge",
		"ip address add " + nodeIP(1) + "/24 dev nodes",
		"ip link set nodes up",
		// Nothing is behind it, but programs look for the node's address where the default route leads.
		"ip route add default via " + nodeIP(1) + " dev nodes",
	}
	for n := 2; n <= nodes; n++ {
		ns, in := netns(n), "ip -n "+netns(n)+" "
		commands = append(commands,
			"ip netns add "+ns,
			fmt.Sprintf("ip link add node%d type veth peer name eth0 netns %s", n, ns),
			fmt.Sprintf("ip link set node%d master nodes up", n),
			in+"link set lo up",
			in+"address add "+nodeIP(n)+"/24 dev eth0",
			in+"link set eth0 up",
			in+"route add default via "+nodeIP(1),
			fmt.Sprintf("ip route add %s via %s", podCIDR(n), nodeIP(n)),
		)
		for other := 2; other < n; other++ {
			commands = append(commands,
				in+"route add "+podCIDR(other)+" via "+nodeIP(other),
				fmt.Sprintf("ip -n %s route add %s via %s", netns(other), podCIDR(n), nodeIP(n)),
			)
		}
		commands = append(commands, "ip netns exec "+ns+" sysctl -qw net.ipv4.ip_forward=1")
	}
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("connect nodes: %s: %w: %s", c, err, strings.TrimSpace(string(out)))
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("connect nodes: %w", err)
	}
	return nil
}

// netns names a node's network namespace.
func netns(number int) string { return fmt.Sprintf("node-%d", number) }
