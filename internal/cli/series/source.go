package series

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubectl/pkg/cmd/create"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// sources has the flags with the content of a new member. They are those of "kubectl create configmap" and "kubectl create secret generic".
type sources struct {
	files, literals, envFiles []string
	secretType                string
}

func (s *sources) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.files, "from-file", nil, "file, KEY=FILE, or folder whose files are the content")
	flags.StringArrayVar(&s.literals, "from-literal", nil, "content as KEY=VALUE")
	flags.StringSliceVar(&s.envFiles, "from-env-file", nil, "file with the content as lines KEY=VALUE")
	flags.StringVar(&s.secretType, "type", "", "type of the Secret, as in kubectl create secret generic (default: Opaque)")
}

func (s *sources) check(id identity) error {
	switch {
	case len(s.files)+len(s.literals)+len(s.envFiles) == 0:
		return errors.New("name the content: --from-file FILE, --from-literal KEY=VALUE or --from-env-file FILE")
	case len(s.envFiles) > 0 && len(s.files)+len(s.literals) > 0:
		return errors.New("--from-env-file cannot be combined with --from-file or --from-literal")
	case s.secretType != "" && id.kind != references.Secret:
		return fmt.Errorf("--type is for Secrets: name the series secret/%s", id.name)
	}
	return nil
}

// object builds the new member with the code of kubectl. The name has the hash of the object before it is immutable, so that it is the name
// that kubectl gives it.
func (s *sources) object(id identity, namespace string) (*unstructured.Unstructured, error) {
	var built *unstructured.Unstructured
	keep := func(object runtime.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		built = &unstructured.Unstructured{Object: content}
		return err
	}
	var err error
	if id.kind == references.Secret {
		err = (&create.CreateSecretOptions{
			Name: id.name, Type: s.secretType, FileSources: s.files, LiteralSources: s.literals, EnvFileSources: s.envFiles,
			AppendHash: true, DryRunStrategy: cmdutil.DryRunClient, PrintObj: keep,
		}).Run()
	} else {
		err = (&create.ConfigMapOptions{
			Name: id.name, FileSources: s.files, LiteralSources: s.literals, EnvFileSources: s.envFiles,
			AppendHash: true, DryRunStrategy: cmdutil.DryRunClient, PrintObj: keep,
		}).Run()
	}
	if err != nil {
		return nil, err
	}
	switch size, err := sizeOf(id.kind, built); {
	case err != nil:
		return nil, err
	case size > corev1.MaxSecretSize:
		return nil, fmt.Errorf("it has %d bytes, and a %s has %d at most: divide it into several series", size, id.kind, corev1.MaxSecretSize)
	}
	if id.kind == references.Secret && s.secretType == "" {
		built.Object["type"] = string(corev1.SecretTypeOpaque) // what the server sets, for the difference to another member
	}
	built.SetNamespace(namespace)
	built.SetLabels(map[string]string{series.Label: id.name})
	built.Object["immutable"] = true
	return built, nil
}

// sizeOf returns how many bytes the content of a ConfigMap or a Secret has, as the server counts them.
func sizeOf(kind references.Kind, object *unstructured.Unstructured) (int, error) {
	var secret corev1.Secret
	var configMap corev1.ConfigMap
	var err error
	if kind == references.Secret {
		err = decode(object, &secret)
	} else {
		err = decode(object, &configMap)
	}
	size := 0
	for _, data := range []map[string][]byte{secret.Data, configMap.BinaryData} {
		for _, content := range data {
			size += len(content)
		}
	}
	for _, text := range configMap.Data {
		size += len(text)
	}
	return size, err
}

// existing returns the object that has the name of the new member, nil if there is none. It is an error if it cannot be that member.
func (s *server) existing(ctx context.Context, id identity, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, err := s.objects(id.kind).Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	name := memberName(id.kind, object.GetName())
	if err != nil {
		return nil, command.Unable(fmt.Errorf("read %s: %w", name, withRight(err)))
	}
	same, err := sameContent(id.kind, found, object)
	immutable, _, _ := unstructured.NestedBool(found.Object, "immutable")
	switch of := found.GetLabels()[series.Label]; {
	case err != nil:
		return nil, command.Unable(fmt.Errorf("read %s: %w", name, err))
	case found.GetDeletionTimestamp() != nil:
		return nil, refused("%s is being deleted: run the command again when it is gone", name)
	case !same:
		return nil, refused("%s exists with other content: delete it, or roll with content that differs", name)
	case of != "" && of != id.name:
		return nil, refused("%s belongs to the series %s: roll that, or take its label %s away", name, of, series.Label)
	case !immutable:
		return nil, refused("%s exists and is mutable: run \"holdfast series adopt %s %s --make-immutable\" first", name, id.name, name)
	case of == "":
		return nil, refused("%s exists, but is in no series: run \"holdfast series adopt %s %s\" first", name, id.name, name)
	}
	return found, nil
}

// sameContent reports whether two objects have the same data and the same type.
func sameContent(kind references.Kind, a, b *unstructured.Unstructured) (bool, error) {
	if kind == references.ConfigMap {
		var x, y corev1.ConfigMap
		err := errors.Join(decode(a, &x), decode(b, &y))
		return maps.Equal(x.Data, y.Data) && maps.EqualFunc(x.BinaryData, y.BinaryData, bytes.Equal), err
	}
	var x, y corev1.Secret
	err := errors.Join(decode(a, &x), decode(b, &y))
	sameType := cmp.Or(x.Type, corev1.SecretTypeOpaque) == cmp.Or(y.Type, corev1.SecretTypeOpaque)
	return sameType && maps.EqualFunc(x.Data, y.Data, bytes.Equal), err
}

func decode(from *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into)
}
