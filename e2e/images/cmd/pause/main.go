// Command pause holds a pod's namespaces: it does nothing until it is told to end, except to bury the orphans of a pod whose containers
// share their processes.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	fmt.Println("pause: holds the namespaces of the pod") // from here on a signal ends it with code 0
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		buryOrphans()
	}
}

// buryOrphans waits for all processes that have ended: signals of several may have come as one.
func buryOrphans() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
