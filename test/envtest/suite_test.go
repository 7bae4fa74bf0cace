package envtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/test/controller/berth"
)

// webhooks labels berths, and refuses berths in the dock "closed".
type webhooks struct{}

func (webhooks) Default(_ context.Context, b *berth.Berth) error {
	if b.Labels == nil {
		b.Labels = map[string]string{"mutated": "true"}
	}
	return nil
}

func (webhooks) ValidateCreate(_ context.Context, b *berth.Berth) (admission.Warnings, error) {
	if b.Spec.Dock == "closed" {
		return nil, errors.New("the dock is closed")
	}
	return nil, nil
}

func (w webhooks) ValidateUpdate(ctx context.Context, _, b *berth.Berth) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, b)
}

func (webhooks) ValidateDelete(context.Context, *berth.Berth) (admission.Warnings, error) {
	return nil, nil
}

// reconciler creates a ConfigMap for each berth and sets the condition Ready.
type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var b berth.Berth
	if err := r.Get(ctx, request.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: b.Namespace}}
	if _, err := ctrl.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Data = map[string]string{"dock": b.Spec.Dock}
		return ctrl.SetControllerReference(&b, owned, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Done"})
	if !changed {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, &b)
}

// startManager runs the manager of the project until the test ends.
func startManager(t *testing.T, environment *envtest.Environment) {
	t.Helper()
	options := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(environment.Config, ctrl.Options{
		Scheme: environment.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		ctrl.NewControllerManagedBy(manager).For(&berth.Berth{}).Owns(&corev1.ConfigMap{}).Complete(reconciler{manager.GetClient()}),
		ctrl.NewWebhookManagedBy(manager, &berth.Berth{}).WithDefaulter(webhooks{}).WithValidator(webhooks{}).Complete())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	waittest.Until(t, "the webhook server listens", func() error {
		return manager.GetWebhookServer().StartedChecker()(nil)
	})
}

// TestSuite is the suite of a project. Nothing in it is particular to Holdfast.
func TestSuite(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), berth.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{"../controller/testdata/harbour.example.com_berths.yaml"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{"testdata/webhooks.yaml"}, MaxTime: waittest.Patience},
		// The defaults are for a machine that is not busy.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: waittest.Patience},
		ControlPlaneStartTimeout: waittest.Patience, ControlPlaneStopTimeout: waittest.Patience,
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	startManager(t, environment)
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("reconciler", func(t *testing.T) { testReconciler(t, admin) })
	t.Run("webhooks", func(t *testing.T) { testWebhooks(t, admin) })
	t.Run("users", func(t *testing.T) { testUsers(t, environment) })
	t.Run("no controllers", func(t *testing.T) { testNoControllers(t, admin) })
}

func newBerth(name, dock string) *berth.Berth {
	return &berth.Berth{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: berth.BerthSpec{Dock: dock, MaxDepth: 20}}
}

func testReconciler(t *testing.T, admin client.Client) {
	b := newBerth("one", "north")
	if err := admin.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the berth is ready", func() error {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, "Ready") {
			return errors.New("it is not")
		}
		return nil
	})
	var owned corev1.ConfigMap
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(b), &owned); err != nil || !metav1.IsControlledBy(&owned, b) {
		t.Errorf("ConfigMap %v: %v", owned.OwnerReferences, err)
	}
}

func testWebhooks(t *testing.T, admin client.Client) {
	// The API server learns of each configuration of webhooks by itself, a moment after it was created.
	waittest.Until(t, "the API server calls the defaulting webhook", func() error {
		b := newBerth("two", "north")
		if err := admin.Create(t.Context(), b, client.DryRunAll); err != nil || b.Labels["mutated"] != "true" {
			return fmt.Errorf("labels %v: %w", b.Labels, err)
		}
		return nil
	})
	waittest.Until(t, "the API server calls the validating webhook", func() error {
		err := admin.Create(t.Context(), newBerth("three", "closed"), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), `admission webhook "vberth-v1.kb.io" denied the request: the dock is closed`) {
			return fmt.Errorf("a berth in a closed dock: %w", err)
		}
		return nil
	})
}

func testUsers(t *testing.T, environment *envtest.Environment) {
	ann, err := environment.AddUser(envtest.User{Name: "ann", Groups: []string{"readers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	as, err := client.New(ann.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := as.List(t.Context(), &corev1.PodList{}); !apierrors.IsForbidden(err) {
		t.Errorf("ann lists pods: %v", err)
	}
}

// testNoControllers checks that no controllers run, as in kube-apiserver: nothing has created service accounts.
func testNoControllers(t *testing.T, admin client.Client) {
	var accounts corev1.ServiceAccountList
	if err := admin.List(t.Context(), &accounts); err != nil || len(accounts.Items) > 0 {
		t.Errorf("service accounts: %v, %v", accounts.Items, err)
	}
}

// BenchmarkStart measures the start of an environment, and of one with the real programs if HOLDFAST_PEER names their
// directory.
func BenchmarkStart(b *testing.B) {
	for _, programs := range []struct{ name, dir string }{{"holdfast", os.Getenv(assets)}, {"kube-apiserver", os.Getenv("HOLDFAST_PEER")}} {
		b.Run(programs.name, func(b *testing.B) {
			if programs.dir == "" {
				b.Skip("HOLDFAST_PEER is not set")
			}
			for b.Loop() {
				environment := &envtest.Environment{BinaryAssetsDirectory: programs.dir}
				if _, err := environment.Start(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := environment.Stop(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
