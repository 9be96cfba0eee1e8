//go:build e2e

package pods

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// requirePlugin fails the test unless kubectl's plugin tells how the sample is, through ports that are forwarded to its unit, and opens psql
// there.
func (w *world) requirePlugin() {
	w.t.Helper()
	bin, err := filepath.Abs("../../bin") // with kubectl-freshet
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"status", "shop"}, []string{"shop in namespace " + w.namespace + ": ready", "shop-unit-0   Fresh", "1/1"}},
		{[]string{"lag"}, []string{"shop-unit-0", "Fresh", "RETAINED"}},
		{[]string{"explain", "shop", "SELECT sum(price) FROM item"}, []string{"Route: columnar", "Table: public.item"}},
		{[]string{"connect", "shop", "--", "-XAtc", `\conninfo`, "-c", "SELECT sum(price) FROM item"}, []string{"SSL", "625625.00"}},
	} {
		w.eventually("kubectl freshet "+c.args[0], func(ctx context.Context) error { return w.plugin(ctx, bin, c.args, c.want) })
	}
}

// plugin runs a command of the plugin that is in a folder. The output must have all of want.
func (w *world) plugin(ctx context.Context, bin string, args, want []string) error {
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"freshet", "--namespace", w.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	for _, text := range want {
		if !strings.Contains(out.String(), text) {
			return fmt.Errorf("want %q in:\n%s", text, out.String())
		}
	}
	return nil
}
