// Command cainjector runs cert-manager's CA injector as a local process, without its metrics.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/certwright/pod"
	_ "github.com/cert-manager/cert-manager/internal/cainjector/feature" // its feature gates
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/spf13/pflag"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const lockName = "cert-manager-cainjector-leader-election"

var (
	flags         = pflag.CommandLine
	_             = flags.IntP("v", "v", 0, "how much is logged; ignored")
	_             = flags.String("config", "", "a configuration file; ignored")
	kubeconfig    = flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig file")
	namespace     = flags.String("namespace", "", "the only namespace to work in")
	leaderElect   = flags.Bool("leader-elect", true, "whether to work only as holder of the Lease")
	leaderSpace   = flags.String("leader-election-namespace", "kube-system", "the namespace of the Lease")
	leaseDuration = flags.Duration("leader-election-lease-duration", 60*time.Second, "how long a Lease is valid")
	renewDeadline = flags.Duration("leader-election-renew-deadline", 40*time.Second, "how long to try to renew it")
	retryPeriod   = flags.Duration("leader-election-retry-period", 15*time.Second, "how often to try")
	fromCerts     = flags.Bool("enable-certificates-data-source", true, "whether bundles come from Certificates, too")
	apiServices   = flags.Bool("enable-apiservices-injectable", true, "whether APIServices get bundles")
	definitions   = flags.Bool("enable-customresourcedefinitions-injectable", true, "whether definitions get bundles")
	mutating      = flags.Bool("enable-mutatingwebhookconfigurations-injectable", true, "whether these get bundles")
	validating    = flags.Bool("enable-validatingwebhookconfigurations-injectable", true, "whether these get bundles")
	gates         = map[string]bool{}
)

func main() {
	flags.Var(cliflag.NewMapStringBool(&gates), "feature-gates", "features that are on or off")
	pod.Parse(flags)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(logs.NewContext(ctx, logs.Log)); err != nil {
		fmt.Fprintln(os.Stderr, "cainjector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctrl.SetLogger(logs.Log)
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiext.AddToScheme, apireg.AddToScheme, cmapi.AddToScheme} {
		if err := add(known); err != nil {
			return err
		}
	}
	// Left to itself, the manager would name this machine instead of the pod.
	client := kubernetes.NewForConfigOrDie(config)
	identity := resourcelock.ResourceLockConfig{Identity: pod.Name() + "_" + string(uuid.NewUUID())}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, *leaderSpace, lockName, client.CoreV1(), client.CoordinationV1(), identity)
	if err != nil {
		return err
	}
	// Its user agent is also the field manager of what it writes.
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(config, "cainjector"), ctrl.Options{
		Scheme:                              known,
		LeaderElection:                      *leaderElect,
		LeaderElectionID:                    lockName,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       leaseDuration,
		RenewDeadline:                       renewDeadline,
		RetryPeriod:                         retryPeriod,
		Metrics:                             metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace:                    *namespace,
		EnableCertificatesDataSource: *fromCerts,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   *mutating,
			cainjector.ValidatingWebhookConfigurationName: *validating,
			cainjector.APIServiceName:                     *apiServices,
			cainjector.CustomResourceDefinitionName:       *definitions,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
