package kubectl_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/waittest"
)

// typedPut is the script command typed-put. It reads a CustomResourceDefinition
// with upstream's Go types, which have no fields for our markers, and writes it
// back, as controllers do.
func typedPut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: typed-put NAME")
	}
	config, err := clientcmd.BuildConfigFromFlags("", ts.Getenv("KUBECONFIG"))
	ts.Check(err)
	config.WarningHandler = warnings{ts.Stdout()}
	client, err := apiextensions.NewForConfig(config)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	// The server may write the status of the definition at the same time.
	ts.Check(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := definitions.Get(ctx, args[0], metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, "typed", time.Now().String())
		_, err = definitions.Update(ctx, crd, metav1.UpdateOptions{})
		return err
	}))
}

// warnings prints warnings as kubectl does.
type warnings struct{ io.Writer }

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(_ int, _, text string) {
	// If the write fails, the script does not find the warning and fails.
	_, _ = fmt.Fprintln(w, "Warning:", text)
}
