package manager

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
)

// checkAccount returns an error if this process runs under another service account of the
// manager's namespace than the configured one. The webhooks of all replicas would then treat the
// writes of this process as those of an ordinary user.
//
// A user that is no such account passes: an administrator may run the manager with a kubeconfig
// and write Instances with the same one.
func checkAccount(ctx context.Context, client kubernetes.Interface, account string) error {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// Kubernetes has this resource from 1.28 on. An administrator may have withdrawn the
		// permission, which every user has by default.
		return nil
	case err != nil:
		return fmt.Errorf("ask the server for the user name of the manager: %w", err)
	}
	name, isAccount := strings.CutPrefix(review.Status.UserInfo.Username, serviceaccount.MakeUsername(Namespace, ""))
	if !isAccount || name == account {
		return nil
	}
	return fmt.Errorf("the manager runs under the service account %s, but is configured for %s: use --service-account=%s",
		name, account, name)
}
