// Package controller runs the plans of Instances.
//
//	err := controller.Run(ctx, controller.Config{Client: config, Keys: keyring, Deletions: deletions})
//
// A run is one execution of a plan. It is identified by the UID that admission gave it.
//
//  1. Before the first write, the controller renders everything that the run would apply
//     or delete and sends it to the server as a dry run: as the requester, and as every
//     author of a parameter value that took part in the object. If one of them is not
//     allowed to write one of the objects, the run ends and nothing has been written.
//  2. The controller executes the steps. After each step, and after each task of a step
//     with several tasks, it stores the progress in the status of the Instance.
//  3. At the end it prunes: it deletes the objects that no plan of the OperatorVersion
//     renders any more.
//
// The controller guarantees:
//
//   - The controller impersonates the user that requested the run when it reads and writes
//     rendered objects. The cleanup of a deleted Instance has the rights of the user that
//     deleted it. With its own rights the controller only reads and writes Instances, writes
//     Events about them, reads OperatorVersions and ServiceAccounts, and reads the discovery
//     documents.
//   - The controller acts only on records of users that admission has sealed (package
//     operator/authorship) for the Instance, the run, the values and the OperatorVersion.
//   - No object is written or deleted that an author of a value in it is not allowed to
//     write or delete. What cannot be tried before the run is tried directly before the
//     write. An author tries each object once in a run.
//   - Objects are rendered only from the content of the OperatorVersion that admission
//     bound the run to.
//   - Objects that do not belong to the Instance are neither changed nor deleted. A
//     namespaced object belongs to the Instance in its owner reference. A cluster-scoped
//     object belongs to all Instances in its owner annotation. Instances of one operator share
//     a cluster-scoped object if they render it alike.
//   - Cluster-scoped objects are not deleted with the Instance.
//   - A controller that is killed and restarted resumes the run. It repeats the task that
//     was being executed, and no other.
//   - When Run returns, all goroutines that it started have ended.
package controller
