package collection_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/pasttest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// quick is what the controller of TestSoakPast has instead of a minute.
const quick = 150 * time.Millisecond

// TestSoakPast shows the controller the past while users create ConfigMaps that no object refers to, create them again after they were
// collected, and end to ask for their collection.
func TestSoakPast(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{Controllers: lifecycle.Selection{"*", "-" + lifecycle.Collection}})
	c := cluster{t, server.Cluster(t)}
	index := newFakeIndex(time.Now())
	pasttest.Run(t, pasttest.Scenario{
		Client: c.Config,
		Controller: func(ctx context.Context, config *rest.Config) {
			server, err := connection.Open(config, connection.Options{})
			if err != nil {
				panic(err)
			}
			defer server.Close()
			if err := collection.Run(ctx, collection.Config{
				Client: server.Typed, Informers: inprocess.NewFactory(server, nil), Index: index, AtLeast: quick,
			}); err != nil {
				panic(err)
			}
		},
		Script: func(t *testing.T, run string) pasttest.Script {
			c := cluster{t, c.Cluster}
			return c.in(run, nil, nil).collected(index)
		},
	})
}

func (c cluster) collected(index *fakeIndex) pasttest.Script {
	configMaps := c.CoreV1().ConfigMaps(c.Namespace)
	of := func(name string) named { return named{references.ConfigMap, c.Namespace, name} }
	create := func(meta metav1.ObjectMeta, value string) pasttest.Step {
		return pasttest.Step{Name: "create " + meta.Name + " with " + value, Write: func(ctx context.Context) error {
			_, err := configMaps.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: meta, Immutable: ptr.To(true), Data: map[string]string{"value": value},
			}, metav1.CreateOptions{})
			return err
		}}
	}
	gone := func(name string) pasttest.Step {
		return pasttest.Step{Name: name + " is collected", Wait: func(ctx context.Context) error {
			_, err := configMaps.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it exists"), err)
		}}
	}
	use := func(name string, used bool) pasttest.Step {
		return pasttest.Step{Name: fmt.Sprintf("%s is used: %t", name, used), Write: func(context.Context) error {
			index.use(of(name), used, time.Now())
			return nil
		}}
	}
	unselect := func(name string) pasttest.Step {
		return pasttest.Step{Name: name + " is selected no more", Write: func(ctx context.Context) error {
			patch := []byte(`{"metadata":{"labels":{"` + series.CollectLabel + `":null}}}`)
			_, err := configMaps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}}
	}
	remove := func(name string) pasttest.Step {
		return pasttest.Step{Name: "delete " + name, Write: func(ctx context.Context) error {
			if err := configMaps.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}}
	}
	ofSeries := func(name string) metav1.ObjectMeta {
		meta := soon(name)
		maps.Copy(meta.Labels, member("web"))
		return meta
	}
	index.change(of("late"), func() { index.late[of("late")] = true })
	return pasttest.Script{
		Steps: []pasttest.Step{
			use("used", true), create(soon("used"), "1"), create(soon("late"), "1"), create(soon("unused"), "1"),
			// The same name with other content, as no object of the controller.
			create(soon("again"), "1"), gone("again"), create(metav1.ObjectMeta{Name: "again"}, "2"),
			// A tool creates the same object again.
			create(soon("wanted"), "1"), gone("wanted"), create(soon("wanted"), "1"),
			// The user ends to ask for the collection before the last reference goes.
			use("kept", true), create(soon("kept"), "1"), unselect("kept"), use("kept", false),
			// The user deletes an object, and creates one of the same name, while the controller may be about to delete it.
			create(soon("swapped"), "1"), remove("swapped"), create(metav1.ObjectMeta{Name: "swapped"}, "3"),
			create(ofSeries("web-1"), "1"), create(ofSeries("web-2"), "2"), create(ofSeries("web-3"), "3"), create(ofSeries("web-4"), "4"),
			gone("web-1"), use("used", false),
		},
		State: func(ctx context.Context) (string, error) {
			list, err := configMaps.List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			var names []string
			for _, item := range list.Items {
				if item.Name == "kube-root-ca.crt" {
					continue
				}
				name := item.Name + "=" + item.Data["value"]
				if item.Annotations[series.RecreatedAnnotation] != "" {
					name += " recreated"
				}
				names = append(names, name)
			}
			slices.Sort(names)
			return strings.Join(names, "\n"), nil
		},
		Want: strings.Join([]string{"again=2", "kept=1", "late=1", "swapped=3", "wanted=1 recreated", "web-2=2", "web-3=3", "web-4=4"}, "\n"),
		Last: []pasttest.Step{create(soon("last"), "1"), gone("last")},
	}
}
