package faults_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The check of the Lease accepts a takeover after the end of the Lease, and rejects one before.
func TestTakeover(t *testing.T) {
	t.Parallel()
	// version returns a version of a Lease of eight seconds. Its times are seconds.
	version := func(holder string, transitions int32, acquired, renewed int64) coordinationv1.LeaseSpec {
		return coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](8), LeaseTransitions: ptr.To(transitions),
			AcquireTime: ptr.To(metav1.NewMicroTime(time.Unix(acquired, 0))), RenewTime: ptr.To(metav1.NewMicroTime(time.Unix(renewed, 0))),
		}
	}
	held := version("a", 0, 100, 110)
	for name, test := range map[string]struct {
		right         bool
		before, after coordinationv1.LeaseSpec
	}{
		"renewed":                            {true, held, version("a", 0, 100, 112)},
		"renewed at an earlier time":         {false, held, version("a", 0, 100, 109)},
		"taken after its end":                {true, held, version("b", 1, 118, 118)},
		"taken before its end":               {false, held, version("b", 1, 117, 117)},
		"taken without counting it":          {false, held, version("b", 0, 118, 118)},
		"released":                           {true, held, version("", 0, 111, 111)},
		"taken after its release":            {true, version("", 0, 111, 111), version("b", 1, 112, 112)},
		"taken back by its last holder soon": {false, version("b", 1, 118, 118), version("a", 2, 119, 119)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := checkTakeover(test.before, test.after); (err == nil) != test.right {
				t.Errorf("the check says %v, want right: %t", err, test.right)
			}
		})
	}
}
