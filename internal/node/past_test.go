package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/pasttest"
)

// TestSoakPast shows an agent the past while users change ConfigMaps, create immutable ones again with other content, and delete pods and
// create them again. A pod that is created after an immutable object gets this object, and no directory of a deleted pod stays.
func TestSoakPast(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		if config.WatchImmutable {
			continue // the agent pins nothing, and the files of a pod follow an object that is created again
		}
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			config.Root, config.SecretsOnDisk = t.TempDir(), true
			credential := c.credential(t, config.Name)
			config.Name += c.suffix
			pasttest.Run(t, pasttest.Scenario{
				Client: credential, Users: c.Config(t),
				Controller: func(ctx context.Context, credential *rest.Config) {
					if err := runAgent(ctx, credential, config); err != nil {
						panic(err)
					}
				},
				Script: func(t *testing.T, run string) pasttest.Script {
					c := *c
					c.namespace += "-" + run
					servertest.CreateNamespace(t, c.admin, c.namespace)
					return c.volumes(t, config)
				},
			})
		})
	}
}

// runAgent runs an agent until ctx ends.
func runAgent(ctx context.Context, credential *rest.Config, config node.Config) error {
	client, err := node.Connect(credential, nil)
	if err != nil {
		return err
	}
	config.Client = client
	agent, err := node.New(config)
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}

func (c *cluster) volumes(t *testing.T, config node.Config) pasttest.Script {
	const volumes = `[{name: app, configMap: {name: app}}, {name: conf, configMap: {name: conf}}]`
	const immutable = `{kind: ConfigMap, metadata: {name: conf}, immutable: true, data: {app.conf: "%d"}}`
	// gone are the UIDs of pods that are deleted.
	var gone []string
	step := func(name string, write func()) pasttest.Step {
		return pasttest.Step{Name: name, Write: func(context.Context) error {
			write()
			return nil
		}}
	}
	create := func(name string) pasttest.Step {
		return step("create pod "+name, func() { c.apply(t, pod(name, "n1", volumes)) })
	}
	remove := func(name string, now bool) pasttest.Step {
		step := step("delete pod "+name, func() {
			gone = append(gone, c.uid(t, name))
			if now {
				c.deletePodNow(t, name)
			} else {
				c.deletePod(t, name)
			}
		})
		step.Wait = func(ctx context.Context) error {
			_, err := c.admin.CoreV1().Pods(c.namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it exists"), err)
		}
		return step
	}
	set := func(value string) pasttest.Step {
		return step("set app to "+value, func() { c.setData(t, "app", value) })
	}
	recreate := func(value int) pasttest.Step {
		return step(fmt.Sprintf("create conf again with %d", value), func() { c.recreate(t, "conf", fmt.Sprintf(immutable, value)) })
	}
	shows := func(name, app, conf string) pasttest.Step {
		return pasttest.Step{Name: fmt.Sprintf("%s shows %s and %s", name, app, conf), Wait: func(ctx context.Context) error {
			got, err := c.files(ctx, config.Root, name)
			if want := fileLine(name, app, conf); err == nil && got != want {
				err = errors.New(got)
			}
			return err
		}}
	}
	return pasttest.Script{
		Steps: []pasttest.Step{
			step("create app and conf", func() {
				c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: "1"}}`)
				c.apply(t, fmt.Sprintf(immutable, 1))
			}),
			create("first"), shows("first", "1", "1"), set("2"), recreate(2), create("second"), set("3"), remove("second", true),
			create("second"), shows("second", "3", "2"), set("4"), recreate(3), remove("first", false), create("first"),
			shows("first", "4", "3"), create("third"), set("5"), remove("third", true), set("6"),
		},
		State: func(ctx context.Context) (string, error) {
			first, err := c.files(ctx, config.Root, "first")
			if err != nil {
				return "", err
			}
			second, err := c.files(ctx, config.Root, "second")
			if err != nil {
				return "", err
			}
			for _, uid := range gone {
				_, err := os.Stat(filepath.Join(config.Root, "pods", uid))
				if err == nil {
					err = errors.New("the directory of a deleted pod exists")
				}
				if !errors.Is(err, os.ErrNotExist) {
					return "", err
				}
			}
			return first + second, nil
		},
		Want: fileLine("first", "6", "3") + fileLine("second", "6", "2"),
		Last: []pasttest.Step{create("last"), shows("last", "6", "3")},
	}
}

func fileLine(pod, app, conf string) string {
	return fmt.Sprintf("%s: app %s, conf %s\n", pod, app, conf)
}

// files returns what the files of a pod say.
func (c *cluster) files(ctx context.Context, root, name string) (string, error) {
	pod, err := c.admin.CoreV1().Pods(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	var said [2]string
	for i, volume := range []string{"app", "conf"} {
		data, err := os.ReadFile(filepath.Join(root, "pods", string(pod.UID), "volumes", volume, "app.conf"))
		if err != nil {
			return "", err
		}
		said[i] = string(data)
	}
	return fileLine(name, said[0], said[1]), nil
}
