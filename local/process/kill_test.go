package process

import (
	"os"
	"testing"
)

func TestProcess_killAfterItsEndLeavesWhoeverHasItsIDAlone(t *testing.T) {
	ended, err := Start(Spec{Path: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	<-ended.Done()
	other, err := Start(Spec{Path: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Kill() }()
	ended.cmd.Process.Pid = os.Getpid() // as if the system had given the id to this process, which has a child
	if err := ended.Kill(); err != nil {
		t.Error(err)
	}
	if !other.Identity().Alive() {
		t.Error("the child of the process that has the id now was killed")
	}
}
