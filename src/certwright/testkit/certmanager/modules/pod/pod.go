// Package pod tells a program what it would know inside its pod.
package pod

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Port returns the port of this machine that stands for a port of the pod: a free one if the pod
// does not declare it, the port itself outside of a pod.
func Port(port int) int {
	ports, inside := os.LookupEnv("CERTWRIGHT_PORTS")
	if !inside {
		return port
	}
	for _, pair := range strings.Split(ports, ",") {
		declared, local, _ := strings.Cut(pair, "=")
		if number, err := strconv.Atoi(local); err == nil && (declared == strconv.Itoa(port) || number == port) {
			return number
		}
	}
	return 0
}

// Address returns the address of this machine that stands for one of the pod; "0" means none.
func Address(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	number, _ := strconv.Atoi(port)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(number)))
}

// Name returns the name of the pod, which is its host name.
func Name() string {
	if name := os.Getenv("HOSTNAME"); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}

// Parse reads the arguments of the program. Those that it does not have are named and left out:
// the released program has many that mean nothing here.
func Parse(flags *pflag.FlagSet) {
	var known []string
	for _, argument := range os.Args[1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if strings.HasPrefix(argument, "--") && flags.Lookup(name) == nil {
			fmt.Fprintln(os.Stderr, "warning: ignored here:", argument)
			continue
		}
		known = append(known, argument)
	}
	if err := flags.Parse(known); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if config := flags.Lookup("config"); config != nil && config.Changed {
		fmt.Fprintln(os.Stderr, "warning: the configuration file is not read:", config.Value)
	}
}
