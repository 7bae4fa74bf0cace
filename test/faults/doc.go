// Package faults breaks the parts of a running system and checks that it stays right: it kills
// and pauses servers and members of etcd, cuts their connections and files, fills their disks, and
// attacks them.
//
// Everything that it breaks is a process of its own: the test binary again, under the name
// holdfast or etcd. Every test has a short form, which `make test` runs, and a long form, which
// `make faults` runs. A test prints the seed of its random choices. HOLDFAST_FAULTS_SEED repeats
// them: the same operations, and faults at the same places. The speed of the machine still decides
// which request a fault hits.
//
// TestFailpoints and the tests of defects of etcd build the program with failpoints, see package failpoint. HOLDFAST_FAULTS_POINTS chooses
// failpoints, and HOLDFAST_FAULTS_PROGRAM names a program that was built before.
//
// Its words: a write is acknowledged if the server answered it with success, refused if the answer
// says that nothing was stored, and open if there was no answer, or one that leaves the result open.
package faults
