package maintenance

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDiskMeasure measures writes that are fast, slow, refused, and that hang.
func TestDiskMeasure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		takes time.Duration
		err   error
		want  Disk
	}{
		"fast":    {want: Disk{}},
		"slow":    {takes: 2 * time.Second, want: Disk{SyncSeconds: 2}},
		"hangs":   {takes: time.Minute, want: Disk{SyncSeconds: 3, Hangs: true}},
		"refused": {takes: time.Second, err: errors.New("read-only"), want: Disk{SyncSeconds: 1, Error: "read-only"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got Disk
				ended := make(chan struct{})
				got.measure(func() error {
					defer close(ended)
					<-time.After(test.takes)
					return test.err
				})
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("disk (-want +got):\n%s", diff)
				}
				<-ended
			})
		})
	}
}
