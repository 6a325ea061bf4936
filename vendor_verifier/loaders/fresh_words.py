"""Words that stand for each other in shipped samples: cities and people by language, and ways to sign a message.

``CITIES`` and ``PEOPLE`` name what a template may replace, and are what it is replaced by. A signature adds a name that
nothing in a question depends on.
"""

from __future__ import annotations

from collections.abc import Mapping

CITIES: Mapping[str, tuple[str, ...]] = {
    "en": (
        "Porto", "Ghent", "Kraków", "Edinburgh", "Denver", "Cape Town", "Lima", "Quito", "Bogotá", "Bergen", "Malmö",
        "Turku", "Reykjavik", "Faro", "Tampere", "Milan", "Turin", "Naples", "Seville", "Valencia", "Vienna", "Tromsø",
        "Antwerp", "Dublin", "Oslo", "Riga", "Vilnius", "Zagreb", "Ljubljana", "Bratislava", "Montreal", "Calgary",
        "Adelaide", "Wellington", "Osaka", "Busan", "Jakarta", "Manila", "Accra", "Kampala", "Cusco", "Santos",
    ),
    "de": (
        "Kiel", "Köln", "Mainz", "Ulm", "München", "Dresden", "Leipzig", "Erfurt", "Bremen", "Rostock", "Kassel",
        "Trier", "Bonn", "Augsburg", "Nürnberg", "Lübeck", "Graz", "Linz", "Salzburg", "Basel", "Bern", "Chemnitz",
    ),
    "es": (
        "Sevilla", "Montevideo", "Salamanca", "Lisboa", "Granada", "Toledo", "Zaragoza", "Bilbao", "Cartagena",
        "Rosario", "Mendoza", "Arequipa", "Cusco", "Mérida", "Puebla", "Burgos", "Cuenca", "Oaxaca",
    ),
    "fr": (
        "Nantes", "Brest", "Genève", "Lille", "Marseille", "Dakar", "Tunis", "Annecy", "Rennes", "Bordeaux", "Toulouse",
        "Grenoble", "Dijon", "Nancy", "Namur", "Lausanne", "Rabat", "Montpellier", "Reims", "Strasbourg",
    ),
    "zh": (
        "成都", "昆明", "哈尔滨", "南京", "杭州", "天津", "武汉", "长沙", "西安", "青岛", "厦门", "合肥", "济南",
        "南昌", "贵阳", "沈阳", "长春", "福州", "宁波", "苏州",
    ),
    "ja": (
        "札幌", "那覇", "仙台", "金沢", "箱根", "福岡", "広島", "松山", "高松", "長崎", "熊本", "青森", "盛岡", "新潟",
        "静岡", "岡山", "徳島", "鹿児島",
    ),
}  # fmt: skip
PEOPLE: Mapping[str, tuple[str, ...]] = {
    "en": (
        "priya", "tomas", "ines", "karim", "mia", "noah", "paul", "lena", "omar", "yuki", "Clara", "amara", "bruno",
        "celia", "dario", "elif", "fatou", "goran", "hana", "ivo", "jonas", "kenji", "lucia", "marek", "nadia", "olga",
        "pedro", "rosa", "samir", "tanja", "viktor", "zoe",
    ),
    "zh": ("李娜", "王磊", "张敏", "刘洋", "陈静", "杨帆", "赵强", "黄丽", "周杰", "吴迪", "徐慧", "孙涛"),
}  # fmt: skip
_FIRST = (
    "Priya", "Tomas", "Amara", "Bruno", "Celia", "Dario", "Elif", "Fatou", "Goran", "Hana", "Ivo", "Jonas", "Kenji",
    "Lucia", "Marek", "Nadia", "Olga", "Pedro", "Rosa", "Samir", "Tanja", "Viktor", "Wanda", "Yara", "Zoe", "Anton",
    "Bianca", "Cyril", "Dora", "Emil", "Frida", "Hugo", "Irene", "Jakub", "Klara", "Leon", "Mirjam", "Nils", "Oskar",
)  # fmt: skip
_LAST = (
    "Lindqvist", "Okafor", "Marin", "Novak", "Petrov", "Silva", "Tanaka", "Weber", "Rossi", "Dubois", "Kowalski",
    "Haddad", "Nguyen", "Larsen", "Virtanen", "Costa", "Moreau", "Schmitt", "Ivanova", "Yilmaz", "Mensah", "Rahman",
    "Castillo", "Brandt", "Jansen", "Horvat", "Popescu", "Bakker", "Fischer", "Keller", "Laurent", "Romano", "Sato",
    "Tran", "Urban", "Vogel", "Walsh", "Young", "Zeman",
)  # fmt: skip
_CHINESE = (tuple("李王张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"), tuple("敏洋静帆强丽杰迪慧涛婷鹏雪宇晨佳琳峰悦辰"))
_JAPANESE = (
    ("佐藤", "鈴木", "高橋", "田中", "伊藤", "渡辺", "山本", "中村", "小林", "加藤", "吉田", "山田", "佐々木", "松本"),
    ("美咲", "健太", "陽子", "大輔", "彩", "翔太", "由美", "直樹", "恵", "拓也", "真由", "和也", "千尋", "亮"),
)
# Both parts of a name in the order of the language of a sample; any other language has those of English.
NAMES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "en": (_FIRST, _LAST), "zh": _CHINESE, "ja": _JAPANESE,
}  # fmt: skip
# How a message ends, by language; {} is the name.
SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "en": ("Thanks, {}", "– {}", "Best, {}", "({})"),
    "de": ("Danke, {}", "– {}", "Gruß, {}", "({})"),
    "es": ("Gracias, {}", "– {}", "Un saludo, {}", "({})"),
    "fr": ("Merci, {}", "– {}", "Cordialement, {}", "({})"),
    "zh": ("谢谢！{}", "——{}", "（{}）"),
    "ja": ("{}より", "（{}）", "よろしくお願いします。{}"),
}
