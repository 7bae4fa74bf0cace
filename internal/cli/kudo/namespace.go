package kudo

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/render"
)

// namespaceOf creates the namespace of an installation. If the package has a template for it,
// the namespace gets the labels and annotations of the template.
func (n *instanceInstallation) namespaceOf(ctx context.Context, s *server, p *pack.Package, values map[string]string) error {
	namespace, err := namespaceFrom(ctx, p, render.Values{
		Name: n.instance, Namespace: s.namespace, OperatorName: p.Operator.Name,
		OperatorVersion: p.Operator.OperatorVersion, AppVersion: p.Operator.AppVersion, Params: p.Definitions().Effective(values),
	})
	if err != nil {
		return err
	}
	config, err := n.config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace.Name = s.namespace
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", s.namespace, err)
	}
	return nil
}

// namespaceFrom renders the template of the namespace, if the package has one.
func namespaceFrom(ctx context.Context, p *pack.Package, values render.Values) (*corev1.Namespace, error) {
	name := p.Operator.NamespaceManifest
	if name == "" {
		return &corev1.Namespace{}, nil
	}
	text, err := render.Template(ctx, name, p.Templates[name], values)
	if err != nil {
		return nil, fmt.Errorf("templates/%w", err)
	}
	objects, err := render.Objects(text)
	if err != nil {
		return nil, fmt.Errorf("templates/%s: %w", name, err)
	}
	if len(objects) != 1 || objects[0].GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Namespace") {
		return nil, fmt.Errorf("templates/%s: one Namespace is expected", name)
	}
	content, err := json.Marshal(objects[0].Object)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal(content, namespace); err != nil {
		return nil, fmt.Errorf("templates/%s: %w", name, err)
	}
	return namespace, nil
}
