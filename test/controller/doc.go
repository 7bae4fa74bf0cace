// Package controller runs controller-runtime managers against a server.
//
// Its tests have two controllers. For every Deployment, the publisher keeps a
// ConfigMap with the image of the first container, sets the status of the
// Deployment, records an event, and cleans up before the Deployment is deleted.
// The harbour keeps a ConfigMap for every Berth, a custom resource. Together
// they use what most controllers use: a cache fed by watches, an index,
// server-side apply, owner references, finalizers, status updates with
// conflicts, events, and a Lease for leader election.
package controller
