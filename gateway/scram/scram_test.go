package scram

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stored is what PostgreSQL would store of a password, and the client's key of it.
func stored(password string, salt []byte, iterations int) (verifier string, clientKey []byte) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		panic(err)
	}
	if verifier, err = newVerifier(password, salt, iterations); err != nil {
		panic(err)
	}
	return verifier, mac(salted, []byte("Client Key"))
}

// login leads a client that knows a password through the gateway to a database that stores a verifier, and returns whether the database
// accepts it. The database is played by a Server of its own.
func login(t *rapid.T, password, verifier string, salt []byte, iterations int, clientBinding, serverBinding []byte) bool {
	keys, err := ParseKeys(verifier)
	if err != nil {
		t.Fatal(err)
	}
	database, toDatabase := NewServer(keys, serverBinding), NewClient(serverBinding)
	theirs := Challenge{base64.StdEncoding.EncodeToString(salt), fmt.Sprint(iterations)}
	answer, err := database.First(toDatabase.Mechanism(), toDatabase.First(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	challenge, err := toDatabase.Challenge(answer)
	if err != nil || challenge != theirs {
		t.Fatalf("challenge %v, %v; want %v", challenge, err, theirs)
	}

	toClient, client := NewServer(keys, clientBinding), NewClient(clientBinding)
	if answer, err = toClient.First(client.Mechanism(), client.First(), challenge); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Challenge(answer); err != nil {
		t.Fatal(err)
	}
	_, known := stored(password, salt, iterations)
	key, err := toClient.Final(client.Final(known))
	if err != nil {
		t.Fatal(err)
	}

	revealed, err := database.Final(toDatabase.Final(key))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(revealed)
	if !slices.Equal(hash[:], keys.Stored) {
		return false
	}
	if err := errors.Join(toDatabase.Verify(database.Signature(), keys), client.Verify(toClient.Signature(), keys)); err != nil {
		t.Fatalf("a login that was accepted is not trusted: %v", err)
	}
	return true
}

func TestLogin_isAcceptedForThePasswordAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		password, tried := rapid.String().Draw(t, "password"), rapid.String().Draw(t, "tried")
		if rapid.Bool().Draw(t, "right") {
			tried = password
		}
		salt, iterations := rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "salt"), rapid.IntRange(1, 64).Draw(t, "iterations")
		binding := rapid.SampledFrom([][]byte{nil, []byte("the one"), []byte("the other")})
		verifier, _ := stored(password, salt, iterations)
		accepted := login(t, tried, verifier, salt, iterations, binding.Draw(t, "client's channel"), binding.Draw(t, "server's channel"))
		if accepted != (tried == password) {
			t.Errorf("accepted: %v, with the right password: %v", accepted, tried == password)
		}
	})
}

// The example of RFC 7677, section 3.
func TestClient_provesAsInTheRFC(t *testing.T) {
	const password, bare = "pencil", "n=user,r=rOprNGfwEbeRWgbNEkqO"
	const serverFirst = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	c := &Client{nonce: "rOprNGfwEbeRWgbNEkqO", bare: bare}
	challenge, err := c.Challenge(serverFirst)
	if err != nil {
		t.Fatal(err)
	}
	salt, err := base64.StdEncoding.DecodeString(challenge.salt)
	if err != nil {
		t.Fatal(err)
	}
	verifier, key := stored(password, salt, 4096)
	if got, want := c.Final(key), "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="; got != want {
		t.Errorf("proof %s, want %s", got, want)
	}
	keys, err := ParseKeys(verifier)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", keys); err != nil {
		t.Error(err)
	}
	if err := c.Verify("v="+base64.StdEncoding.EncodeToString(make([]byte, 32)), keys); err == nil {
		t.Error("a server that does not know the keys is trusted")
	}
}

func TestServer_refusesWhatDoesNotFitItsOffer(t *testing.T) {
	keys, challenge := NoKeys(), Challenge{"c2FsdA==", "4096"}
	for name, c := range map[string]struct {
		binding            []byte
		mechanism, message string
		want               string
	}{
		"downgraded offer":        {[]byte("b"), Mechanism, "y,,n=,r=x", ErrNegotiation.Error()},
		"binding not offered":     {nil, MechanismPlus, "p=tls-server-end-point,,n=,r=x", "not offered"},
		"another mechanism":       {nil, "SCRAM-SHA-1", "n,,n=,r=x", "not offered"},
		"another binding":         {[]byte("b"), MechanismPlus, "p=tls-unique,,n=,r=x", "unsupported channel binding"},
		"flag without mechanism":  {[]byte("b"), Mechanism, "p=tls-server-end-point,,n=,r=x", "does not fit its mechanism"},
		"mechanism without flag":  {[]byte("b"), MechanismPlus, "n,,n=,r=x", "does not fit its mechanism"},
		"authorization identity":  {nil, Mechanism, "n,a=admin,n=,r=x", "authorization identity"},
		"mandatory extension":     {nil, Mechanism, "n,,m=x,n=,r=x", "attribute 1 is not n"},
		"unknown flag":            {nil, Mechanism, "x,,n=,r=x", "unexpected channel binding flag"},
		"no header":               {nil, Mechanism, "n=", "no header"},
		"no nonce":                {nil, Mechanism, "n,,n=", "1 attributes instead of 2"},
		"client without binding":  {[]byte("b"), Mechanism, "n,,n=,r=x", ""},
		"server without binding":  {nil, Mechanism, "y,,n=,r=x", ""},
		"both with binding":       {[]byte("b"), MechanismPlus, "p=tls-server-end-point,,n=,r=x", ""},
		"optional extension last": {nil, Mechanism, "n,,n=,r=x,e=y", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewServer(keys, c.binding).First(c.mechanism, c.message, challenge)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestServer_refusesAProofForAnotherChannelOrChallenge(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"another channel":  func(m string) string { return strings.Replace(m, "c=biws", "c=eSws", 1) },
		"another nonce":    func(m string) string { return strings.Replace(m, ",r=", ",r=x", 1) },
		"no proof":         func(m string) string { return m[:strings.LastIndex(m, ",p=")] },
		"a proof cut off":  func(m string) string { return m[:len(m)-8] },
		"none of SCRAM's":  func(string) string { return "" },
		"another sequence": func(m string) string { return "r=" + m },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := NewServer(NoKeys(), nil), NewClient(nil)
			answer, err := s.First(c.Mechanism(), c.First(), Challenge{"c2FsdA==", "4096"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Challenge(answer); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Final(change(c.Final(make([]byte, sha256.Size)))); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestParseKeys_refusesWhatIsNoVerifier(t *testing.T) {
	verifier, _ := stored("secret", []byte("salt"), 4096)
	for _, s := range []string{"", "md5c4ca4238a0b923820dcc509a6f75849b", "secret", verifier[:len(verifier)-4], strings.Replace(verifier, "256", "512", 1), verifier + "$"} {
		if _, err := ParseKeys(s); err == nil {
			t.Errorf("%q is accepted", s)
		} else if s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("the error repeats the verifier: %v", err)
		}
	}
}
