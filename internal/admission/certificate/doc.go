// Package certificate has the admission plugins of certificates: it records who requests a certificate, and checks the rights
// of a user that approves or signs a request, or writes a trust bundle. Package access/certificate signs the requests.
package certificate
