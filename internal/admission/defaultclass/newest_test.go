package defaultclass

import (
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewest(t *testing.T) {
	const yes = "is-default"
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	class := func(name, value string, created time.Time) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{yes: value}, CreationTimestamp: metav1.NewTime(created),
		}}
	}
	tests := map[string]struct {
		classes []*storagev1.StorageClass
		want    string
	}{
		"no class":     {},
		"no default":   {classes: []*storagev1.StorageClass{class("a", "false", day)}},
		"one":          {classes: []*storagev1.StorageClass{class("a", "false", day), class("b", "true", day)}, want: "b"},
		"newest":       {classes: []*storagev1.StorageClass{class("b", "true", day.Add(time.Second)), class("a", "true", day)}, want: "b"},
		"newest last":  {classes: []*storagev1.StorageClass{class("a", "true", day), class("b", "true", day.Add(time.Second))}, want: "b"},
		"equally new":  {classes: []*storagev1.StorageClass{class("b", "true", day), class("a", "true", day)}, want: "a"},
		"newer is off": {classes: []*storagev1.StorageClass{class("a", "true", day), class("b", "", day.Add(time.Second))}, want: "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newest(test.classes, "other", yes); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
