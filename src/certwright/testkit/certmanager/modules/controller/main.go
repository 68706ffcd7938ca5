// Command controller runs the part of cert-manager's controller that Certificates need: no ACME,
// Vault or Venafi, no Ingress and Gateway shims, no metrics. Its leader election and its health
// checks are those of the released program.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/certwright/pod"
	_ "github.com/cert-manager/cert-manager/internal/controller/feature" // its feature gates
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/metrics"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"

	// Each of these registers a controller, or an issuer type, from its init.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

const lockName = "cert-manager-controller"

var (
	flags         = pflag.CommandLine
	_             = flags.IntP("v", "v", 0, "how much is logged; ignored")
	_             = flags.String("config", "", "a configuration file; ignored")
	kubeconfig    = flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig file")
	clusterSpace  = flags.String("cluster-resource-namespace", "kube-system", "where ClusterIssuers find their Secrets")
	namespace     = flags.String("namespace", "", "the only namespace to work in")
	leaderElect   = flags.Bool("leader-elect", true, "whether to work only as holder of the Lease")
	leaderSpace   = flags.String("leader-election-namespace", "kube-system", "the namespace of the Lease")
	leaseDuration = flags.Duration("leader-election-lease-duration", 60*time.Second, "how long a Lease is valid")
	renewDeadline = flags.Duration("leader-election-renew-deadline", 40*time.Second, "how long to try to renew it")
	retryPeriod   = flags.Duration("leader-election-retry-period", 15*time.Second, "how often to try")
	workers       = flags.Int("concurrent-workers", 5, "workers per controller")
	qps           = flags.Float32("kube-api-qps", 200, "requests per second, where the API server has no limits")
	burst         = flags.Int("kube-api-burst", 400, "requests at once, where the API server has no limits")
	ownerRef      = flags.Bool("enable-certificate-owner-ref", false, "whether Certificates own their Secrets")
	prefixes      = flags.StringSlice("copied-annotation-prefixes", []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"}, "which annotations are copied")
	minBackoff    = flags.Duration("certificate-request-minimum-backoff-duration", time.Hour, "first wait before a failed Certificate is requested again")
	maxBackoff    = flags.Duration("certificate-request-maximum-backoff-duration", 32*time.Hour, "longest such wait")
	gates         = map[string]bool{}
)

func main() {
	flags.Var(cliflag.NewMapStringBool(&gates), "feature-gates", "features that are on or off")
	pod.Parse(flags)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(logs.NewContext(ctx, logs.Log)); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	certificates := controller.CertificateOptions{EnableOwnerRef: *ownerRef, CopiedAnnotationPrefixes: *prefixes}
	// An empty value would mean no back-off at all.
	set(&certificates, "CertificateRequestMinimumBackoffDuration", *minBackoff)
	set(&certificates, "CertificateRequestMaximumBackoffDuration", *maxBackoff)
	options := controller.ContextOptions{
		Kubeconfig:         *kubeconfig,
		KubernetesAPIQPS:   *qps,
		KubernetesAPIBurst: *burst,
		Namespace:          *namespace,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: *clusterSpace},
		CertificateOptions: certificates,
	}
	// Since 1.19 the factory has its own.
	set(&options, "Clock", clock.RealClock{})
	set(&options, "Metrics", metrics.New(logs.Log, clock.RealClock{}))
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", healthAddress())
	if err != nil {
		return err
	}
	health := healthz.NewServer(20 * time.Second)
	go func() { _ = health.Start(ctx, listener) }()
	if !*leaderElect {
		return lead(ctx, factory)
	}
	return elect(ctx, health.LeaderHealthzAdaptor, func(ctx context.Context) error { return lead(ctx, factory) })
}

// healthAddress returns where health is asked for: any port unless a pod declares one.
func healthAddress() string {
	if _, inside := os.LookupEnv("CERTWRIGHT_PORTS"); !inside {
		return "127.0.0.1:0"
	}
	return pod.Address("0.0.0.0:9403")
}

// elect calls work while this process holds the Lease, and gives the Lease up at the end.
func elect(ctx context.Context, watchdog *leaderelection.HealthzAdaptor, work func(context.Context) error) error {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	identity := resourcelock.ResourceLockConfig{Identity: pod.Name() + "-external-" + lockName}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, *leaderSpace, lockName, client.CoreV1(), client.CoordinationV1(), identity)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   *leaseDuration,
		RenewDeadline:   *renewDeadline,
		RetryPeriod:     *retryPeriod,
		ReleaseOnCancel: true,
		WatchDog:        watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				fmt.Fprintln(os.Stderr, "controller: leads")
				ended <- work(ctx)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	watchdog.SetLeaderElection(elector)
	elector.Run(ctx)
	if ctx.Err() == nil {
		return errors.New("the Lease was lost")
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(5 * time.Second): // it never led, or does not end
		return nil
	}
}

func lead(ctx context.Context, factory *controller.ContextFactory) error {
	ended, started := make(chan error), 0
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintln(os.Stderr, "controller: starting", name)
		started++
		go func() { ended <- c.Run(*workers, ctx) }()
	}
	root, err := factory.Build() // has the informer factories that the controllers registered on
	if err != nil {
		return err
	}
	root.SharedInformerFactory.Start(ctx.Done())
	root.KubeSharedInformerFactory.Start(ctx.Done())
	root.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	for ; started > 0; started-- {
		if e := <-ended; e != nil && err == nil {
			err = e
		}
	}
	return err
}

// set sets a field that not every version has.
func set(options any, field string, value any) {
	if found := reflect.ValueOf(options).Elem().FieldByName(field); found.IsValid() {
		found.Set(reflect.ValueOf(value))
	}
}
