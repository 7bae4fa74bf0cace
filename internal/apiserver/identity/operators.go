package identity

import (
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/deletion"
)

// Operators is what admission and the controller of operator packages share.
type Operators struct {
	// Keys seal the requester of a run and the authors of values.
	Keys *authorship.Keyring
	// Deletions records the users that delete Instances.
	Deletions *deletion.Store
	// Reviews says what a user may do.
	Reviews authorizationclient.SubjectAccessReviewInterface
	// Token authenticates the controller. It exists only in this process.
	Token string
}

func newOperators(client kubernetes.Interface) Operators {
	keys := authorship.NewKeyring(authorship.SecretKeys(client, metav1.NamespaceSystem, authorship.ServerSecret))
	return Operators{
		Keys: keys, Deletions: deletion.NewStore(client, metav1.NamespaceSystem, keys), Token: uuid.NewString(),
		Reviews: client.AuthorizationV1().SubjectAccessReviews(),
	}
}

// authenticate adds the credential of the controller of operator packages. The controller
// has a user of its own, so that the audit log and the roles tell it from the server.
func (o Operators) authenticate(config *genericapiserver.AuthenticationInfo) {
	known := map[string]*user.DefaultInfo{o.Token: {Name: authorship.ControllerUser, Groups: []string{user.AllAuthenticated}}}
	config.Authenticator = union.New(authenticatorfactory.NewFromTokens(known, config.APIAudiences), config.Authenticator)
}
