package quota_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/quota"
)

var secrets, pods = corev1.Resource("secrets"), corev1.Resource("pods")

// ledgerTest is a ledger with one quota and a clock that the test sets.
type ledgerTest struct {
	*quota.Ledger
	quota *corev1.ResourceQuota
	now   time.Time
}

// newLedgerTest returns a ledger with a quota that limits these resource names.
func newLedgerTest(t *testing.T, hard ...corev1.ResourceName) *ledgerTest {
	t.Helper()
	l := &ledgerTest{Ledger: quota.NewLedger(), now: time.Now(), quota: &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "quota", UID: "q", ResourceVersion: "1"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}},
		Status:     corev1.ResourceQuotaStatus{Used: corev1.ResourceList{}},
	}}
	for _, name := range hard {
		l.quota.Spec.Hard[name] = resource.MustParse("100")
	}
	l.track(t)
	return l
}

func (l *ledgerTest) track(t *testing.T) {
	t.Helper()
	if err := l.Track(l.quota, func() ([]quota.Object, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
}

// listSecrets tells the ledger that the namespace has this number of secrets.
func (l *ledgerTest) listSecrets(number int) {
	l.WatchStarted(secrets)
	for range number {
		l.Count(secrets, "shop", 1)
	}
	l.Listed(secrets)
	l.Discovered()
}

// charge sets the usage in the status, like admission does.
func (l *ledgerTest) charge(name corev1.ResourceName, used string) {
	l.quota.Status.Used[name] = resource.MustParse(used)
}

// compute computes the usage, writes it to the status, and returns it as text.
func (l *ledgerTest) compute() string {
	u := l.Compute(l.quota, l.now)
	l.quota.Status.Used = u.Used
	l.Confirm(cache.MetaObjectToName(l.quota), u, "")
	var all []string
	for _, name := range slices.Sorted(maps.Keys(u.Used)) {
		quantity := u.Used[name]
		all = append(all, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	if !u.Complete {
		all = append(all, "incomplete")
	}
	return strings.Join(all, " ")
}

// observeDeletedPod observes a pod that is being deleted. It counts as stuck 30 seconds
// from now.
func (l *ledgerTest) observeDeletedPod() {
	grace, deleted := int64(30), metav1.NewTime(l.now)
	l.Observe(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", UID: "a", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
	}})
}

// want compares the usage in a situation.
func want(t *testing.T, situation, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", situation, diff)
	}
}

func TestLedgerWaitsForLists(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "secrets", "count/widgets.example.com")
	want(t, "before discovery", l.compute(), "incomplete")
	l.WatchStarted(secrets)
	l.Count(secrets, "shop", 1)
	l.Discovered()
	want(t, "before secrets are listed", l.compute(), "count/widgets.example.com=0 incomplete")
	l.Listed(secrets)
	want(t, "all kinds are listed", l.compute(), "count/widgets.example.com=0 secrets=1")
}

// The ledger keeps a charge while it has not observed the object of the charge.
func TestLedgerKeepsPendingCharges(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "secrets")
	l.listSecrets(2)
	want(t, "at first", l.compute(), "secrets=2")
	l.charge("secrets", "4")
	l.Count(secrets, "shop", -1)
	want(t, "one secret deleted, two charged", l.compute(), "secrets=3")
	want(t, "nothing is released twice", l.compute(), "secrets=3")
	l.Count(secrets, "shop", 1)
	l.Count(secrets, "shop", 1)
	want(t, "both charged secrets observed", l.compute(), "secrets=3")
	l.now = l.now.Add(time.Minute)
	want(t, "a minute later", l.compute(), "secrets=3")
}

// A charge expires after 10 seconds if the ledger does not observe its object.
func TestLedgerExpiresCharges(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "secrets")
	l.listSecrets(1)
	want(t, "at first", l.compute(), "secrets=1")
	l.charge("secrets", "3")
	want(t, "two charges", l.compute(), "secrets=3")
	l.now = l.now.Add(9 * time.Second)
	want(t, "before they expire", l.compute(), "secrets=3")
	l.Count(secrets, "shop", -1)
	want(t, "one secret deleted in between", l.compute(), "secrets=2")
	l.charge("secrets", "3")
	want(t, "a later charge", l.compute(), "secrets=3")
	l.now = l.now.Add(2 * time.Second)
	want(t, "the first charges expired, the later one did not", l.compute(), "secrets=1")
	l.now = l.now.Add(11 * time.Second)
	want(t, "all charges expired", l.compute(), "secrets=0")
}

// A status with less than the observed usage is raised.
func TestLedgerRaisesUsage(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "secrets")
	l.listSecrets(3)
	l.charge("secrets", "1")
	if u := l.Compute(l.quota, l.now); !u.Reread {
		t.Error("a quota with too little usage is not read again")
	}
	want(t, "three secrets observed", l.compute(), "secrets=3")
}

// When a kind is watched in another version, its objects are counted down and up again.
// That releases nothing.
func TestLedgerWatchOfOtherVersion(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "secrets")
	l.listSecrets(1)
	want(t, "at first", l.compute(), "secrets=1")
	l.charge("secrets", "2")
	l.WatchStarted(secrets)
	l.WatchStopped(secrets)
	l.Count(secrets, "shop", -1)
	want(t, "the first watch stopped", l.compute(), "secrets=2")
	l.Count(secrets, "shop", 1)
	l.Listed(secrets)
	want(t, "the second watch has listed", l.compute(), "secrets=2")
}

// A pod that is stuck in its deletion only counts as an object.
func TestLedgerStuckPod(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "pods", "count/pods")
	l.Discovered()
	l.observeDeletedPod()
	want(t, "being deleted", l.compute(), "count/pods=1 pods=1")
	if after := l.Compute(l.quota, l.now).ComputeAfter; after < 30*time.Second || after > 31*time.Second {
		t.Errorf("computed again after %s", after)
	}
	l.now = l.now.Add(31 * time.Second)
	want(t, "stuck", l.compute(), "count/pods=1 pods=0")
}

// A pod that is not in the scope of a quota does not count when it gets stuck.
func TestLedgerStuckPodOutOfScope(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "count/pods")
	l.quota.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}
	l.track(t)
	l.Discovered()
	l.observeDeletedPod()
	l.now = l.now.Add(31 * time.Second)
	want(t, "stuck", l.compute(), "count/pods=0")
}

// An object that replaces another one takes over its usage: nothing is released, so the charge of an object that is not observed yet stays.
func TestLedgerReplaces(t *testing.T) {
	t.Parallel()
	l := newLedgerTest(t, "pods")
	pod := func(uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: types.UID(uid)}}
	}
	l.Observe(pods, pod("old"))
	l.charge("pods", "2")
	want(t, "a pod, and a charge for another one", l.compute(), "pods=2")
	l.Replace(pods, pod("old"), pod("new"))
	want(t, "the pod is replaced", l.compute(), "pods=2")
	l.Forget(pods, pod("new"))
	want(t, "the new pod is deleted", l.compute(), "pods=1")
}
