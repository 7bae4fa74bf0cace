package apiserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// requests returns the number of requests that the server has answered, by verb and
// resource, without those of this test.
func requests(t *testing.T, client kubernetes.Interface) map[string]int {
	t.Helper()
	data, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		labels, found := strings.CutPrefix(lines.Text(), "apiserver_request_total{")
		if !found {
			continue
		}
		label := func(name string) string {
			_, rest, _ := strings.Cut(labels, name+`="`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		_, count, _ := strings.Cut(labels, "} ")
		n, err := strconv.ParseFloat(count, 64)
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if label("resource") != "leases" && label("resource") != "" {
			counts[label("verb")+" "+label("resource")] += int(n)
		}
	}
	return counts
}

// renewals waits until the leader has renewed its lease a number of times. This measures
// time by the work of the server, so that a busy machine makes no difference.
func renewals(t *testing.T, client kubernetes.Interface, times int) {
	t.Helper()
	last := ""
	for seen := 0; seen < times; {
		waittest.Until(t, "the leader renews its lease", func() bool {
			lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "holdfast-controllers", metav1.GetOptions{})
			if err != nil {
				return false
			}
			now := lease.ResourceVersion
			if now == last {
				return false
			}
			last = now
			return true
		})
		seen++
	}
}

// Without requests of clients, a server does nothing but renew the lease of its
// controllers.
func TestIdleServerIsIdle(t *testing.T) {
	if testing.Short() {
		t.Skip("idles for a while")
	}
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	renewals(t, client, 8)
	if len(requests(t, client)) == 0 {
		t.Fatal("the metrics count no requests, not even those of the start")
	}
	// If the disk is slow for seconds, the leader loses its lease, and the controllers start again.
	waittest.Until(t, "ten renewals with at most five requests", func() error {
		before := requests(t, client)
		renewals(t, client, 10)
		var did []string
		total := 0
		for what, n := range requests(t, client) {
			if more := n - before[what]; more > 0 {
				total += more
				did = append(did, fmt.Sprintf("%s: %d", what, more))
			}
		}
		// Ten renewals take at least 13 seconds. A watch may end and start again meanwhile.
		if t.Logf("in ten renewals: %d requests %v", total, did); total > 5 {
			return fmt.Errorf("an idle server was asked %d times: %v", total, did)
		}
		return nil
	})
}
