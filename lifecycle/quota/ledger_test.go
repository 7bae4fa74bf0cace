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
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/lifecycle/quota"
)

var secrets, pods = corev1.Resource("secrets"), corev1.Resource("pods")

// book is a ledger with one quota, at a time that only the test moves.
type book struct {
	*quota.Ledger
	quota *corev1.ResourceQuota
	now   time.Time
}

func newBook(t *testing.T, hard ...corev1.ResourceName) *book {
	t.Helper()
	b := &book{Ledger: quota.NewLedger(), now: time.Now(), quota: &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "quota", UID: "q", ResourceVersion: "1"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}},
		Status:     corev1.ResourceQuotaStatus{Used: corev1.ResourceList{}},
	}}
	for _, name := range hard {
		b.quota.Spec.Hard[name] = resource.MustParse("100")
	}
	if err := b.Open(b.quota, func() ([]quota.Object, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *book) listSecrets(number int) {
	b.Begin(secrets)
	for range number {
		b.Count(secrets, "shop", 1)
	}
	b.Listed(secrets)
	b.Discovered()
}

// says sets what the status says, as admission does.
func (b *book) says(name corev1.ResourceName, used string) {
	b.quota.Status.Used[name] = resource.MustParse(used)
}

// reckon makes the reckoning the status, unless it is doubtful.
func (b *book) reckon() string {
	r := b.Reckon(b.quota, b.now)
	b.quota.Status.Used = r.Used
	b.Settle(cache.MetaObjectToName(b.quota), r, "")
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Used)) {
		quantity := r.Used[name]
		all = append(all, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	if !r.Complete {
		all = append(all, "and more")
	}
	return strings.Join(all, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestLedgerWaitsForLists(t *testing.T) {
	t.Parallel()
	b := newBook(t, "secrets", "count/widgets.example.com")
	want(t, "before kinds are known", b.reckon(), "and more")
	b.Begin(secrets)
	b.Count(secrets, "shop", 1)
	b.Discovered()
	want(t, "before secrets are listed", b.reckon(), "count/widgets.example.com=0 and more")
	b.Listed(secrets)
	want(t, "when all is listed", b.reckon(), "count/widgets.example.com=0 secrets=1")
}

func TestLedgerKeepsChargesOnTheirWay(t *testing.T) {
	t.Parallel()
	b := newBook(t, "secrets")
	b.listSecrets(2)
	want(t, "at first", b.reckon(), "secrets=2")
	b.says("secrets", "4")
	b.Count(secrets, "shop", -1)
	want(t, "one gone, two on their way", b.reckon(), "secrets=3")
	want(t, "nothing is released twice", b.reckon(), "secrets=3")
	b.Count(secrets, "shop", 1)
	b.Count(secrets, "shop", 1)
	want(t, "both there", b.reckon(), "secrets=3")
	b.now = b.now.Add(time.Minute)
	want(t, "a minute later", b.reckon(), "secrets=3")
}

func TestLedgerTakesBackOldCharges(t *testing.T) {
	t.Parallel()
	b := newBook(t, "secrets")
	b.listSecrets(1)
	want(t, "at first", b.reckon(), "secrets=1")
	b.says("secrets", "3")
	want(t, "two charges", b.reckon(), "secrets=3")
	b.now = b.now.Add(9 * time.Second)
	want(t, "not old yet", b.reckon(), "secrets=3")
	b.Count(secrets, "shop", -1)
	want(t, "what is released in between", b.reckon(), "secrets=2")
	b.says("secrets", "3")
	want(t, "a younger charge", b.reckon(), "secrets=3")
	b.now = b.now.Add(2 * time.Second)
	want(t, "the old ones are taken back, the younger is not", b.reckon(), "secrets=1")
	b.now = b.now.Add(11 * time.Second)
	want(t, "all are old", b.reckon(), "secrets=0")
}

func TestLedgerRaises(t *testing.T) {
	t.Parallel()
	b := newBook(t, "secrets")
	b.listSecrets(3)
	b.says("secrets", "1")
	if r := b.Reckon(b.quota, b.now); !r.Doubtful {
		t.Error("a quota that was charged too little is not doubtful")
	}
	want(t, "what is there counts", b.reckon(), "secrets=3")
}

func TestLedgerOfAKindThatIsListedAgain(t *testing.T) {
	t.Parallel()
	b := newBook(t, "secrets")
	b.listSecrets(1)
	want(t, "at first", b.reckon(), "secrets=1")
	b.says("secrets", "2")
	// Its version changes: the second watch begins, the first ends.
	b.Begin(secrets)
	b.End(secrets)
	b.Count(secrets, "shop", -1)
	want(t, "what a watch forgets is not released", b.reckon(), "secrets=2")
	b.Count(secrets, "shop", 1)
	b.Listed(secrets)
	want(t, "listed again", b.reckon(), "secrets=2")
}

func TestLedgerOfStuckPods(t *testing.T) {
	t.Parallel()
	b := newBook(t, "pods", "count/pods")
	b.Discovered()
	grace, deleted := int64(30), metav1.NewTime(b.now)
	b.Observe(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", UID: "a", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
	}})
	want(t, "in deletion", b.reckon(), "count/pods=1 pods=1")
	r := b.Reckon(b.quota, b.now)
	if r.Again < 30*time.Second || r.Again > 31*time.Second {
		t.Errorf("looked at again after %s", r.Again)
	}
	b.now = b.now.Add(31 * time.Second)
	want(t, "stuck", b.reckon(), "count/pods=1 pods=0")
}

// A pod that a quota is not about does not become its own by being stuck.
func TestLedgerOfStuckPodsOutOfScope(t *testing.T) {
	t.Parallel()
	b := newBook(t, "count/pods")
	b.quota.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}
	if err := b.Open(b.quota, func() ([]quota.Object, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	b.Discovered()
	grace, deleted := int64(30), metav1.NewTime(b.now)
	b.Observe(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", UID: "a", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
	}})
	b.now = b.now.Add(31 * time.Second)
	want(t, "stuck", b.reckon(), "count/pods=0")
}
