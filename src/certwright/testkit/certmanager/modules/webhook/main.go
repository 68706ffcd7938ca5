// Command webhook runs cert-manager's admission webhook as a local process.
//
// The server lives in an internal package. Go decides by import path who may
// import one, hence the name of this module; it is never published or fetched.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/cert-manager/cert-manager/certwright/pod"
	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/logs"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(logs.NewContext(ctx, logs.Log)); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	config.KubeConfig = os.Getenv("KUBECONFIG")
	options.AddConfigFlags(pflag.CommandLine, config)
	options.NewWebhookFlags().AddFlags(pflag.CommandLine)
	pod.Parse(pflag.CommandLine)
	// After parsing, since defaults are ports of the pod as well.
	config.SecurePort = int32(pod.Port(int(config.SecurePort)))
	config.HealthzPort = int32(pod.Port(int(config.HealthzPort)))
	config.MetricsListenAddress = pod.Address(config.MetricsListenAddress)
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(config.FeatureGates); err != nil {
		return err
	}
	server, err := webhook.NewCertManagerWebhookServer(logs.Log, *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
