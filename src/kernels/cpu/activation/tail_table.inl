// The normal distribution's tail before its exponential, S(a) = Phi(-a) e^(a^2 / 2), for a in [0,
// 15): with w = a + 1, one polynomial for each quarter octave of w. Entry i belongs to the w whose
// bits 21..24 are i: 12..15 are [1, 2), then 0..11 are [2, 16). Rows 0..6 are the coefficients of
// powers of a - centre, minimax, relative error below 1e-8; row 7 is the centre, chosen where S is
// nearly a float, so that the first coefficient is good to more than 24 bits.

namespace lattice::kernels {
namespace {

constexpr std::size_t kTailCentre = 7;
constexpr float kTailTable[8][16] = {
    {0x1.d27ad4p-3f, 0x1.80a7c2p-3f, 0x1.3b886cp-3f, 0x1.06fdb2p-3f, 0x1.b24f62p-4f, 0x1.54b038p-4f,
     0x1.205d72p-4f, 0x1.e88e48p-5f, 0x1.a171fap-5f, 0x1.4e87fap-5f, 0x1.15b6e0p-5f, 0x1.d08fe4p-6f,
     0x1.000000p-1f, 0x1.878de4p-2f, 0x1.4eb11ep-2f, 0x1.20a832p-2f},
    {-0x1.ba5b84p-4f, -0x1.3a119ep-4f, -0x1.b63312p-5f, -0x1.389180p-5f, -0x1.b39224p-6f,
     -0x1.1175cep-6f, -0x1.8bbe76p-7f, -0x1.1e1ea4p-7f, -0x1.a404fep-8f, -0x1.0f2fdep-8f,
     -0x1.76ef6cp-9f, -0x1.06d6fep-9f, -0x1.988452p-2f, -0x1.09e3e4p-2f, -0x1.9a6f7ap-3f,
     -0x1.3fc6e8p-3f},
    {0x1.6fead8p-5f, 0x1.ccd98ap-6f, 0x1.179b2cp-6f, 0x1.5b8feap-7f, 0x1.9f46dcp-8f, 0x1.a80c00p-9f,
     0x1.088568p-9f, 0x1.489aa4p-10f, 0x1.a0647ap-11f, 0x1.b35fa2p-12f, 0x1.f6b532p-13f,
     0x1.27f794p-13f, 0x1.ffff60p-3f, 0x1.26b3a4p-3f, 0x1.a41398p-4f, 0x1.2de18ap-4f},
    {-0x1.147fc6p-6f, -0x1.365aeep-7f, -0x1.4c9e0cp-8f, -0x1.6d0a6ep-9f, -0x1.7a8f68p-10f,
     -0x1.3e8520p-11f, -0x1.591084p-12f, -0x1.726a06p-13f, -0x1.96ff0ep-14f, -0x1.5a2df8p-15f,
     -0x1.4ebf6cp-16f, -0x1.4ba95cp-17f, -0x1.104ab6p-3f, -0x1.1af42ep-4f, -0x1.7927e2p-5f,
     -0x1.fa0f2ep-6f},
    {0x1.7e7ba0p-8f, 0x1.8547f6p-9f, 0x1.74a472p-10f, 0x1.6ca704p-11f, 0x1.4b7bc2p-12f,
     0x1.d055a2p-14f, 0x1.b7f34ep-15f, 0x1.9a4474p-16f, 0x1.892e6ap-17f, 0x1.10f63cp-18f,
     0x1.bb219cp-20f, 0x1.71e15ep-21f, 0x1.fde50ap-5f, 0x1.e64b44p-6f, 0x1.317c88p-6f,
     0x1.820196p-7f},
    {-0x1.f1c24ap-10f, -0x1.cdc578p-11f, -0x1.8f759cp-12f, -0x1.59bf7ep-13f, -0x1.1cf5a4p-14f,
     -0x1.4ba4c4p-16f, -0x1.14b898p-17f, -0x1.c4392ap-19f, -0x1.758ec8p-20f, -0x1.a73cd4p-22f,
     -0x1.222daep-23f, -0x1.9d9370p-25f, -0x1.9e59f6p-6f, -0x1.7f394ep-7f, -0x1.bf0650p-8f,
     -0x1.0d5c58p-8f},
    {0x1.3f2a60p-11f, 0x1.e814b0p-13f, 0x1.8f550ap-14f, 0x1.6de4fcp-15f, 0x1.d7b9eep-17f,
     0x1.024faep-18f, 0x1.4fe12ap-20f, 0x1.dacd18p-22f, 0x1.1b5fa4p-23f, 0x1.0a13cap-25f,
     0x1.401f08p-27f, 0x1.cba6f2p-29f, 0x1.cf1fb8p-8f, 0x1.1a9d4cp-8f, 0x1.0eeba0p-9f,
     0x1.12f964p-10f},
    {0x1.470000p+0f, 0x1.b74000p+0f, 0x1.1f0000p+1f, 0x1.67a000p+1f, 0x1.c18000p+1f, 0x1.262000p+2f,
     0x1.5fb000p+2f, 0x1.a2c000p+2f, 0x1.ed0000p+2f, 0x1.356000p+3f, 0x1.75e000p+3f, 0x1.bff800p+3f,
     0.0f, 0x1.750000p-2f, 0x1.370000p-1f, 0x1.b90000p-1f},
};

}  // namespace
}  // namespace lattice::kernels
