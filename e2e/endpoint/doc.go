// Package endpoint gives tests a gateway inside the test's own process, before real servers of package stand.
//
// Invariant: the gateway has ended when the test has, and a gateway that ends by itself fails the test.
package endpoint
