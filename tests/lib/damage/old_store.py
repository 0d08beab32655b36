"""A store as the version before manifests and copies left it after a clean stop, and what it had confirmed.

It has three streams with blocks, sidecars, deletes and consumers: what `lib.damage.server.build` makes,
written by the code of commit f9e1e80. It is kept as bytes (JSON, zlib, base 85), so that it stays what that
version wrote.
"""

from __future__ import annotations

import base64
import json
import zlib

from lib.damage.server import Files, Promised


def old_store() -> tuple[Files, Promised]:
    """Return its files, and what was promised of them."""
    document = json.loads(zlib.decompress(base64.b85decode("".join(_TEXT.split()))))
    files = {path: bytes.fromhex(data) for path, data in document["files"].items()}
    messages = {
        name: {int(seq): body.encode() for seq, body in found.items()}
        for name, found in document["messages"].items()
    }
    deleted = {name: set(found) for name, found in document["deleted"].items()}
    acked = {(name.split()[0], name.split()[1]): set(found) for name, found in document["acked"].items()}
    return files, Promised(messages, deleted, document["last"], acked)


_TEXT = r"""
c-
rkf%Z?*Cj=z#f>@jvKM7`_U80>B4kcT=f_MqorX1cn8&Kh8WM*sU#5q4IDY+7>I&W@f<*TZIrL6Z!MA|;vn_1T4gruh8%*XO_f<<
Cz)Jb(UgHo(9KF~~s=X0ZP=JinZ~KCp3MY+x`jJ}@ybIWRRaJuovcJHR*q-T?#f0mJ}u05yOfzzkpqJ`S7>90~G)i-
F65tAXo*n}ORwjDui<fI;B*i9yIgs6psKm_gV<j>yuNv#kC$Jje87`t~Le;&5!6SS^Blhh-7$%Q>-
FA(Q|9V|pz_KE+S}NZ($+{gT|*Pyg{>pXN`mpOE;c@bgcv|N5GKdHwXmr?2Uo`_n&OfBxzD^RphcRZeq=Dk`akVh}llksA(*agBe
B0xn?`e01864n_dQRaQwUWt9ftc<s<q+Ju%G?^U3JlCt2jLVLyo5F7x)8}{W^p(IkVS|M*BvmWt#5msE=;~jW^P+@f!L;gI0Ew#b
x(^aG^&fcf-)6`b(;hc}Be-?K|#k4^=SG*p+ujuj(Q<rZq-
_5ioxU(vu%JC`S`<l1Iw;XvZm`B}n$r(R`yU>F~?DakDM2@7TiimyWvS^5*Wz6_%i6=`zifpo&wFMx?{M5C;yVFFEK`PczbW@(yE
G^Q6`5qn1yN-wNK>I3pP1L0lZ}@lz{^Lcfe6mw6BpM9<arl|z|M(da7hFnLXzTbqba#u_Z|+;dE|Es2gN>-
UQH}TlGqQ2{vg75KZNTG|_t!6W88-NrLohknU^UaI-
}MU`_`JgB4SZ4Iiw3@|@MQyERrsobuPc1rz&GOw!bSYX^R4j%!@l9HLwlMyk><+h-
Lj{KJzQ%)OnPHg)(_*iVUJCID}1FOJ9HNh<G0Ztn*3JyJ_a2!#E0?Q=#Nc)EBuh;n7z*r<G0}tn*3Jyo=Y85j=SZz@<%KSnG=ZJ@
>}~uCZrU}?3Uk(ULyqPiH4ObF_w~CV@xzh!&xLDJ0s#c#+~k6Mt2zVNsN~rMmv0pnkG!Sh^P+tByh)=NyaL&EU{9WB17clEut)OT
r3fz=I7$cneXZQi^OpJ?seq)h8;Cmx`6|_#HX@>#gsm3<ZLv3_@+5}onrr$j@n$7J5X--ruQ{2>IvIRgbUvz%qb!l)sqn_Px*}g{
sgDz9F$yVG8g0L)pzS9hA3GQ#`SiJ(ecw;gbt0&qddEaHe0@t7im{dK1~)Ws|*KorSct9zG9~+`%RlD6}BTCxzZ_OAzm)epzodnP
2cnuyPu^z+pB%coF)tI!AFTphN&-NFC^9Ta}7o7_-
zLD|7PcB@2&cT%<En>_ih~ty&kPkpgiHCX8&EXsIRYod;Rp?9slR}C;#I=7w&YL3h<ouMyiRs(FLZOp1w8EpttnehQ08iToycvfF
ma>qnh&9Wpc+sfV0D=aWbOP^=J1~+|2miZ8D>8i!Py5;%qqIkP06OOV&tIE6}MGAi0DK5<IBQMW-+{(xg@zQe|nl48ZaJDgHUpN-
Hbh<%<Ulp(0pPD-Ee)Mhatyq^*cfTM^{56BnNAquOl9RzyK+r6pC8!j9aKT9KVvp}Cas?rqV?l!JDpRvJ=i?i|J|iPVa^+1siM5<
I94Tyi*Ib5bh}saOUUy%nTi(SJn0;ypUrFy;K`wbGEvGUo#~w5^y<TjAuhGZ&uggW3#Z!7EMMN<%7bF?%wB){4E^+u92fJgAM0Cd
L$LTWLvUKngF+u?L-
W3HL|rL5rvtxMeESqftXX<D3!EYEnP`kF6gZSBy@Q9+w*Ofo9BGt&hFxMBs39yvr^|rw?u&l^l(BbmZHT5A!ab&4~BI+3EJs3Njn
;jr{TGm=JM0e~tC2Tlw=ctI-SC%%5w(xANzd4(NwB^XD7zjr?6b+41-
Izst!EtAsXZCK;+p1?j8dmo?O2)?x37+ho^?X%6%lpYOD3eg`{i%!|Y0$@3EmZhn^swWdQ_f<eK=Q9isIKZl^lV4)5g>g%m`s`s4
8^9O@Zo;y_TN)Xd1y?8A**m6THH_+;a^7P+HO7(pZ`yM)f4;L{Z<!OvOIeDQ|zFfb#$tvK6D{jg*rD;U_*xdB7xoQ8?@?*z@{L9%
*O<G!DIrHPDrh58>H#T9^?JfM){nu_vnH-<Pp4qvn=>)%H6UPd_V-v*+zhlvQh2PlJbb{aV)-
`@(Q_~54$ELLvert57@mr%sjUU=U;R-
)ijj@5B>aeVVpR2}v8NX+RX@y^J!fMz*tL&XM?4MQk&Kma5Dtl)Q`)9J=MApEs?4332zn&Ig4f|)6y|ae>v&!CC!~R)i@2p|}tg?
63uzyzBJ8RfKtL&XM?4MQk&Kma5a=mHkGJek<zZHIE@6fP+s0c#C{-
LsWXxKkg_6`mEhsxfeVgFFsJ2dPcDtm{9{X=E%(6E1~>>V2R53X)&;8*qz4f}`6-
l1XtP}w^)>>nz7hlc$_W$)0i|DHXgEBwmddBgsD;;|)uv@S)<f!efpbNqMbO~_+pEMtQ8Fn;g630Wtj0t@kB{N8yJvcsgw1tTBE@
0~XxN0qHLOh1g@J8wdEJ|`cg+%3N+`9umfny_1bD}Jm^fon1Dmfvdp)Gm2HFQx92-)j6$B6-
XyV7L5M@k5RYB4)k2<+qAo6i=XI5WD3!*4;1348rY}-;;bMNokDQEx)<;XF&x%ZTH(HzbE0G4ocaScgruU{aIj1DYjdF>v+-
yCW4E*<(Jp~EEr?mZsW6h{wl{{fGfXSe(U+P6tW9xxA7!9*>)K6sHTm+`{cKtPYE%C%Dasx>-
kF$5u<g!+jza6Kb0)Hk^9}ollA;<$k92gcN?$Q^T$y|u7cieJXz0Q3ln)zez);@J%8?e6vFb|#*_8@J(p1=o_8Cs*XsvKSUD!QTm
9DLw6oF)wOjqx>nGM)0H1d2A5PY9v<1UpxBj7CKVr#xAz-)T8=U-v$ohn@-SR8z`~nkX3^I4iud4G48-
jPcjnC@!L&*#pgWhd^QLkTyY?5GpxB11%dTKB>B);4HxL&{YV5|~(xA}3se(by%9m~6&->KKHd127=-
OlgS>*rA!ZG_+L{A9g;FO1QU^ls-T>-_^EJB-cZZsW;%xmhwNu)FOxUa$90cyQc~cDM0lP4D6c-
>#BHLW!~mT1j4t7a@Jgx0NfB{JK&_i2qTh=%Y;0N139JGDZ9NJ;c4s6IsxX1#4SAz4emVO|;H-
FMLGooD7vc{V*8^e3{#HmwOD0<L3<jKVK&3!PkZGkX?k{GDJ1^UKnS?RD|Wc^w1$aoaGJ(uJ3r=t5I>7^0lsVLpAqG=P}Ol=M=e|
NZ<Os%<uXtW4UzGZo96sLN)i?>xABue)gi{*^9H!Mi9^Jp4V~UaNL>R@<AuhUO1b5u%z^|L;CaFNqG46z;g<IRJ~<_YVLImE`_K`
>D6YhrwFd^c%3uh#?tXS%K@D{djKzRz$W{>-gCcqWAw@!)?4<c=AI>tUIKUIvo{^jo}Ya-hInRoyl$NjhK;$mywB;g1L>5f$9uck
>sf;9J6<naAd+>gw~Wu}c+b$|>9;aIN}L$ijxB$&(omN6m@&QOdQSR)HKUc{&HJC|!EcZH=y>h^Ey|2WSWvxXd1^T_Q)7-
ylX?i7<3C15ZVzZ-
F{7x__m)4Y<uD+49uGxI&*>p<_K9qshI*eC6BLU^(=lN~4$Nguj82kzNSnPQBcr(owCEHi8)YE%(2&C`CQ=ff)I;7J9WpYmdq7Ld
LTHoe{IDSh2ALRaSW*wIUwB{ilZxd0?k&Qz=%ppgm$l?@EC^+$0+i?Vz;5u9n&kZMEzy|}BPYw;HGhFW)r-uT)C1h$Ck@H@-
CMwL!z3fiA-3dDA@c-*?ic(9KWRzM@806AvpRaRSY}HO!_Y^%Xh=PX&3>{>p1xa42$C5g$a3B-IWj2YwW0lk-
0UZTi~t|e62q868c99K){Gjum{BEC4{EcY1bQa${w*$R0V0qkyPK6e1SA(Z8Ar7$d0g<5Kt_NMXyGYI5foWguqDTpOBB}?6+A8l@
VamgYcp9-lC6?lcAb#NqJrb$PNNPK4z(W5p{U@rL|9-
rOwF=cspc?QnezeW2hI)!la9p&F<6^8v3!0%7Cf?tqKYif>A&OiI~)oYIX}Ncp3_0k=lA2($F1*2<9@IAbCVJu@MGaszq)tP#z*2
+|K0}Ld6=1<>>P?=AYynl!b7^kZ2`Tq+F5Nw%cQhsaN=fK)le$8=S-4TOT8C9BwmIzl?*;V2Aa(=GLYH-
16l+s#zjewfvp*5mII5Nj*09IF|verYl)cj1exiWs3C`Qfk!K7dvG_z$cp6r?kym+A7i9rWY?Nw^KR6J&YAoTF|sB(zk7?vZh_b7
oT*jqN(Y|3CFh=5xFJS1B<FW;2_pj=44p%_<iId4;{{R=@diI>NzU)z!VJ#>=sA^!96Ym(_CU_Tv$WYyax(jWK#SveDU9?STSE>J
c*rWy{UUGnlbp={AJD=9-
GgxSoNGglQD+?$Bj*}h)fF%JNls?}4`@l=2&W>sCexBbizuQOg46@s>?b*y{Xd`ulXV$z@FVrmntNtGXXPTP2iWW<IT-
;ypv4%+Mg&PcG~^JNrUWU-
@dEe_ep14_wJ^&^l`^?T*OJ33ZgnzbTn*v|KdDI0@7|(9Fcz}}QV$I|&^L^36pGY?yunXulJmQ_<S1><j@;SPl0zvUfG0=lLEYdd
4axc4TgIFs*M{8F(UJp+X>gJ57y1T2X-UrS-eQx+bQ8!uJ}o&iCZv&Bat<EMW<M#&2=D<dPB0uZ9c>S$wYSCd7y@k%cC()pWCZwt
7A}p$w41hvR`qg>CW8lh+;p4$q#z@}2ebsu6O%xX7p}GQIm@6lIsX8Dv!4`X1o(&+<uE}o^mx&bLkH&VT)pDF9>QinDd?T+_iq6%
wGo<*C!1BoK|3ADyc^;Tep14_wRi|Bg-FMf@osCCK(AFcCf8H7CG+IS26fw7WlPAnwaRcf0PQfn&kk#p*39oL%&RQ!u-
bw_sF)}B56TTQNB+PW7xNmWH}g9W^BQG1Y)2PjUZV_Veivb0ql||w%Tmm1l+n!ZGR%5<@3qB`waJgQ$h+cEYmnm2ZC2}%kmVS>^H
;bdPOm|BR?shX4V*&%6t7$RtKFGo+2=99Uiiqx?dVA7gz1LZSCOO9-
CMj<G3!9bI<5W8_+PY)j&<@4v9BgMzk3V#9Bfu}?AwqdOXh=O<Qin_#FC4#uOT_VdyC0VB0#Riw&XA}jv)g%r_9+6v9BdLzk3TqF
1VwQy=}>nV$f(0<UU>wn`2)|X7vwfNf=jUFyvZnOAeco2%cV>=X|rDlw?-_fEFDYvku6$`Ia17jlyw8&XsVn*-
uI`tA9YtXp&Vtl54TNd9owsgh`NdXIyUflakEpAJAg0Hlx?%+I&k6G>2fgBXeV}Hv36QX7vwfQ9gvgCAk*cl7ml&Sqd_K;Q9tXN&
e3L{w+9cVlbG=wfUwTA(Wp1(Rwg9_(?@_e)ks4?lIKXv^}&=j$}SdpUJqI+Z+6(CON-
<3v(W9r0t=#r!5E`jU?CJxVynm8j|z7x8RtU6U+2?(U2o6gTdtFXV3nwoVQNC-N}n%3}vjO#|z)`lYBJzfwYIP*-t7m0(?M=(B-
E*j*cf=C$n<L%Z^!p_z48>xc_1TQ^B|Lr&3}tpDePCzsAYbxAK>iSBh)BnZL$K)wlAeOGF^1JbV*>bw8@%Tlu?k@{E|vZ%k4du`a
i9G6_Q!R_UC}ZwdK(&E>!6T>Ag_x%J;=4!bp3+i-p@=hN!^*Z*!OTT$vy$_w58%ct=3Pp|*_ntplx^g~}U*-
}Cl|0&=`mGY3I=q)BIrXrYZn*Ek@smNt<S+OqndbxEjz-dci$*I)psOFNFT-
&#DqEm^>s+edww&gsw)aI?ksnz1_eHuU6V<FM9ulZuJ(_?Yh6|d(?yS^1*WplC6Gu+v!yk{xCnJV56-
*V(_D$05+$SS8gFy~6y9`zun60Xa8*ohpM%fya<kOHBAUBYnLQ6_ZVDPF(1ZwWhui9CmK+K{LY8;sT?lWhbawgHb<-
aj@LgIGPxnlRclzWLF{j_VWrhW|UkZyfu4g5M~ceS%+4&Zq`{!#|(k8zN4j@Egy!#t#g8hO=au_nYnM&d0Db>5WxcKaAfyAH%K`W
QWe;Vf^0t7<OM4T{6Un@q6cE*fCEWv-kO7{NDK(c8{rdOgZkB-
^w4cEM!g~cFS+=51EisB(qz7D|#0LfUZcGW1L%Nh*bF{k18uJdgHMQ`pRP!^!3LoV0>62IA5mI5Jy&J_CF3+_&8kQ<8XzK!xe7No
$h_ag0WfpbM=d_J=#E{qa2Oc3m>Ry44}Rj!)hI|Q0EV25I_=|I2z%>*GG`tWH<I6u~2jGMG6MKmqBSAv2a#;ILjRnT;K6}9&vot#
`YeuP;;-W5Ti1Il%97;&(Ctl39j#WU6oq#8FcRv3pMxLGn4RA?-
2`Ur59(p69m_Hyv~G47zw)GBNk4cy$CtU5POeUI4k{m?j$_?x+!~zlNP;4EY#fV=t`2ydyiPS!s{u5>pNc8+Ia+G?-
2_%_c7U&=A+rqORqP3Jxy?Z$LmRP$5Q6KM=aFbvm|(e?<JpFM=V_7^$fxF9k0hAV-
`C09<gvTKR60r4!Q3=V&Mv}X9=$FcwNL0Y>2$~h=rPakzC3^Zz--<!>;gpY}&N(PAxuTN-
47IJ!0Xc4@i%HCo4LC)P!$Y(LP>~k}dT%dXHE*@r0O6;d|;mV&Mu;$jHd;5iOpvAf4?!Vxg7;VlKU-
cm;k~Rl06frlNl<Kclml?oG#Eo#%(YFFzPBNN}0fk9c2xq(g+PY5mA|)(<Gl7zC0Z^}hThB~6&h;GN$BHQu;|>}GwH-vUQ^3t5xD
#;V}W{AC|PW^yxsjal?t`BTg$;o|n^>o3E%@^|Ib)ODq`k5fRLS88PqB~)A7noHRYAs<~@yL&1tUv8(itewd72ZJBJ1+BG}tl@;3
OKFWx__oDt0ly{QbJ&H!II1N^;o<qW;rU1R`tAAiug`z|%b%Y=GZ>y<o<FN`c>Yo#Z2y{GU)|r*>l@Cm&kQ>retbGKJ+Y^)5cYWn
H8ps;1w@iH#Wl_~5E2s=G4Zq&LSnKaCZD!KNK944)YDc7iJ6L+dD;pgF<TL{Pg|j4p)W_9ds$e{wV#WnRWw!z-
N4agUzSF<1t^60nh<~50u(}GO-MX#0SY0xCM2J>0ELiR6H-rGfI>*G3F)UTKp|w-gv`?xpb)ZaLiTA3aPU(v3vYAn=R#s!(-
@z&0EN)HbHLK-`+-8Jl4`|rH&6(zI|nSSz8@%r)|~^ER^Ja4LhH@}ORMh(3ZZr9fTh*<1BKAKbHLK-`+-7e-
8o=s_5DC0wC)_RwEBJk3GuaM^QFo51BKAqviZ_v`+-
7eZP|Qjvi(3Iw6<)%G}(Tj5L#O{Uz%(`PzbFpn=ehaA1H*@md%$Y+Yb~%Ys=<KlkEozp|xf6rOEaKh0xlv`O;+jfkQ<3vWN?>{ai
?_JBL_WeLqkLtviQUT75rI2(3GZSXzBQPzbF%hge#DKTrr&dR{598z_X<okJ|Gz8@%r)}2Evt-
c>9gw~xyEUmsDD1_FXLoBVnA1H*@okJ|Gz8^SbNH2>#=i1MO#JY3HrPcQXh0wZl$fecy1BKAKbI7ID_XCB{x^u{-
)%OF1(7JQTrPcQXg;4dtR!^fFD1_FXLoThpA1H*@okK3Iz8@%r)}2Ext-
c>PB<e4Vbo<)Rg~ZyX)zVn|fkU4EvdGr2{d~yoUluv~wVz8)|7FVQi%?&_Cq?7a7T}nWe_1BiTY$rp`m)gcwV$7V`|Y>?1HJHX(f
"""
