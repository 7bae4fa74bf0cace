package series_test

import (
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/series"
)

func TestSort(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	members := []series.Member{{"settings", late}, {"settings-a", early}, {"settings-b", late}, {"settings-c", late}, {"before", early}}
	series.Sort("settings", members)
	for i, want := range []string{"settings-c", "settings-b", "settings-a", "before", "settings"} {
		if got := members[i].Name; got != want {
			t.Errorf("member %d is %s, want %s", i, got, want)
		}
	}
}
